"""What runs in a broker: the coordinator, its groups and what they write."""
