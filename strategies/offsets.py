"""Offsets to commit: a coordinator does not compare them with any log."""

from hypothesis.strategies import integers

OFFSETS = integers(1, 2**40)
