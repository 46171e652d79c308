"""Checks of KIP-101."""
