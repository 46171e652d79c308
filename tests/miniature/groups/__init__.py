"""Consumers, alone and in groups, and what they commit."""
