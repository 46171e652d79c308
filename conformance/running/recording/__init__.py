"""Writing down what a run shows, and telling of it."""
