"""Leader epochs, producer epochs and member epochs, relative to the current one: they are mapped to epochs when a check runs."""

from hypothesis.strategies import integers

EPOCHS_BACK = integers(1, 3)
"""The distance of an older epoch from the current one, if the leader has changed at least three times."""
EPOCHS_AHEAD = integers(1, 1000)
"""The distance from the current epoch to one that does not exist yet."""
NEAR_EPOCHS_AHEAD = integers(1, 5)
"""The distance to a newer epoch that the node learns of and continues from."""
EPOCH_BUMPS = integers(0, 3)
"""The number of earlier bumps of the epoch of a producer or member."""
