"""Settings that users write in the notation of Java and Kafka: properties files, and references to secrets."""
