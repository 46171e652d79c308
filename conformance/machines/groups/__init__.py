"""The group machine: its members, groups and executor."""
