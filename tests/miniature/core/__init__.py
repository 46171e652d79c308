"""Brokers around a controller, under a logical clock."""
