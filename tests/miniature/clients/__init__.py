"""Clients: consumers, alone and in groups, and what they commit; producers."""
