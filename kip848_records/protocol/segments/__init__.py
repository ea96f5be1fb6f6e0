"""Log segments, the files that a broker keeps: record batches v2 (magic 2) as rows."""
