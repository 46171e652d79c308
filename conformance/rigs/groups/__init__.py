"""Rigs of consumer groups."""
