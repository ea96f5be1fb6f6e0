"""Compares offset commits with the partitions that rebalances stopped."""
