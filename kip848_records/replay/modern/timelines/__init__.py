"""The rows over time of a modern group, written at the end of its operations."""
