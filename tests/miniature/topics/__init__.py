"""Bugs planted for the topics machine, and the schedules that meet them."""
