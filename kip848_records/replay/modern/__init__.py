"""What consumer, share and streams groups share (`ModernGroup` in Kafka): epochs, members, targets, owners."""
