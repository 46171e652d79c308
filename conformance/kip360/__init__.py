"""Checks of KIP-360."""
