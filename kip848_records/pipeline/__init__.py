"""The one pipeline: a source becomes the log, and the log becomes the tables."""
