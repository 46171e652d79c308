"""Brokers with one planted bug each, to show that the kit has teeth: a Java agent and a table of what must turn red."""
