"""Recording the results of a run, and reporting them."""
