"""Bugs planted for the log machine, and the schedules and scripts that meet them."""
