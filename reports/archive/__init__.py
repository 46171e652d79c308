"""An append-only archive of runs."""
