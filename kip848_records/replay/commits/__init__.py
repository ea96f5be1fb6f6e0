"""What offset commits say of the partitions that rebalances stopped."""
