"""Leader epochs, producer epochs and member epochs, relative to the current one: they are mapped to epochs when a check runs."""

from __future__ import annotations

from hypothesis.strategies import integers

EPOCHS_BACK = integers(1, 3)
"""How far an older epoch is behind the current one, of a partition whose leader has changed three times at least."""
EPOCHS_AHEAD = integers(1, 1000)
"""How far an epoch that does not exist yet is ahead of the current one."""
NEAR_EPOCHS_AHEAD = integers(1, 5)
"""How far a newer epoch is ahead that the node is told of, and goes on from."""
EPOCH_BUMPS = integers(0, 3)
"""How often the epoch of a producer or member was bumped before."""
