"""Members of a quorum, by their place among the nodes of the topology."""

from hypothesis.strategies import integers

CONTROLLERS = integers(0, 2)
"""The index of one of three controllers."""
