"""Checks of KIP-320."""
