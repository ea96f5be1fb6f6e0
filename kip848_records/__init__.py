"""Decode Kafka's ``__consumer_offsets`` log and write per-group rebalance timelines to Delta."""

__version__ = "0.1.0"
