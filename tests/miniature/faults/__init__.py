"""The faults of the lab, done to the miniature."""
