"""Checks of KIP-1251."""
