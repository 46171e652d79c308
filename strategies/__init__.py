"""Strategies: what to try."""
