"""Kafka's promises, and the checks of them."""
