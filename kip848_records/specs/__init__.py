"""What each table contains: its columns in Arrow's types, its key, and the meaning of each."""
