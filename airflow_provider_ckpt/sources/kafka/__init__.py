"""Sources of Kafka."""
