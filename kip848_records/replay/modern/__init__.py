"""The common part of consumer, share and streams groups (`ModernGroup` in Kafka): epochs, members, targets, owners."""
