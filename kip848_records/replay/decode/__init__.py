"""Log rows -> values, a whole column at a time."""
