"""The plan of a run: the budget, the order, and the use of remaining time."""
