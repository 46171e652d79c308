"""The topics machine: topics and configurations are administered while brokers fail."""
