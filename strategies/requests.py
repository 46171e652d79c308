"""Requests: the versions they are sent in, relative to the newest that both sides have."""

from hypothesis.strategies import SearchStrategy, integers


def versions_back(most: int) -> SearchStrategy[int]:
    """Draw the number of versions by which a request is behind the newest: 0 to `most`."""
    return integers(0, most)
