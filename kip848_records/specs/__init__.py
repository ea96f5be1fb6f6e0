"""The tables: the columns of each in Arrow's types with their meaning, and its key."""
