"""Leader epochs, producer epochs and member epochs, relative to the current one: they are mapped to epochs when a check runs."""

from __future__ import annotations

from hypothesis.strategies import integers

EPOCHS_BACK = integers(1, 3)
"""The distance of an older epoch from the current one, of a partition whose leader has changed three times at least."""
EPOCHS_AHEAD = integers(1, 1000)
"""The distance to an epoch that does not exist yet."""
NEAR_EPOCHS_AHEAD = integers(1, 5)
"""The distance to a newer epoch, which the node learns of and goes on from."""
EPOCH_BUMPS = integers(0, 3)
"""The number of times that the epoch of a producer or member was bumped before."""
