"""Kafka's wire format for `__consumer_offsets`, in NumPy and PyArrow, without Spark."""
