"""Bugs planted for the group machine, and the schedules that meet them."""
