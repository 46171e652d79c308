"""Bugs planted for the producer machine, and the schedules that meet them."""
