"""The plan of a run: time budget, order, and the use of remaining time."""
