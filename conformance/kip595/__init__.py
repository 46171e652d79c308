"""Checks of KIP-595."""
