"""Judges: pure functions from a history to observations, and the one function that turns observations into verdicts."""
