"""From histories to observations to verdicts: pure functions, no cluster."""
