"""The Hypothesis state machines, one folder for each."""
