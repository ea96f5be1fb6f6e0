"""The simulated broker: the coordinator, its groups and their records."""
