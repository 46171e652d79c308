"""What Kafka promises, and the checks that hold it to that."""
