"""Answers of brokers and of the controller to requests, by API."""
