"""Offsets to commit: a coordinator does not compare them with any log."""

from __future__ import annotations

from hypothesis.strategies import integers

OFFSETS = integers(1, 2**40)
