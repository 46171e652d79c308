"""Inputs of probes: records to write, epochs and versions relative to the current ones, offsets, quorum members.

Epochs and versions are mapped to the cluster's when a check runs.
"""

from collections.abc import Sequence

import msgspec
from hypothesis.strategies import SearchStrategy, builds, integers, one_of, sampled_from

from protocol.records import Codec

NEAR = 3
"""The number of distances that count as near."""


def near_or_far(most: int, least: int = 1) -> SearchStrategy[int]:
    """Draw a distance past a limit: equally often one of the first few from `least` on and one of the others up to
    `most`."""
    return one_of(integers(least, least + NEAR - 1), integers(least + NEAR, most))


class Place(msgspec.Struct, frozen=True):
    """A place in a log of yet unknown length: `near` one of its landmarks, such as the start of an epoch."""

    landmark: int
    near: int

    def among(self, landmarks: Sequence[int]) -> int:
        """Return the non-negative offset in a log with these landmarks."""
        return max(0, landmarks[self.landmark % len(landmarks)] + self.near)


PLACES = builds(Place, landmark=integers(0, 59), near=integers(-2, 2))

RECORDS = integers(1, 4)
"""The number of records in a batch, or written one after the other."""
FEW_RECORDS = integers(1, 3)
"""The number of records of each of an example's repeated writes."""
CODECS = sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD])
EPOCHS_BACK = integers(1, 3)
"""The distance back to an older epoch, if the leader has changed at least three times."""
EPOCHS_AHEAD = near_or_far(1000)
"""The distance ahead to an epoch that does not exist yet."""
PAST_END = near_or_far(1000)
"""The distance from a log end to an offset past it."""
NEAR_EPOCHS_AHEAD = integers(1, 5)
"""The distance to a newer epoch that the node learns and continues from."""
EPOCH_BUMPS = integers(0, 3)
"""The number of earlier epoch bumps of a producer or member."""
OFFSETS = integers(1, 2**40)
"""Offsets to commit, which a coordinator compares with no log."""
CONTROLLERS = integers(0, 2)
"""The index of one of three controllers."""


def versions_back(most: int) -> SearchStrategy[int]:
    """Draw how many versions a request is behind the newest: 0 to `most`."""
    return integers(0, most)
