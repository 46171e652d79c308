"""What is run when: the budget, the order, and what time that is left goes to."""
