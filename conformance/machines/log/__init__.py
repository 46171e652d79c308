"""The log machine: its model, its rules and its executor."""
