"""Inputs of probes: records to write, epochs and versions relative to the current ones, offsets, members of a quorum.

Epochs and versions are mapped to those of the cluster when a check runs.
"""

from hypothesis.strategies import SearchStrategy, integers, sampled_from

from protocol.records import Codec

RECORDS = integers(1, 4)
"""The number of records of a batch, or of records written one after the other."""
FEW_RECORDS = integers(1, 3)
"""The number of records of each write that an example repeats several times."""
CODECS = sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD])
EPOCHS_BACK = integers(1, 3)
"""The distance of an older epoch from the current one, if the leader has changed at least three times."""
EPOCHS_AHEAD = integers(1, 1000)
"""The distance from the current epoch to one that does not exist yet."""
NEAR_EPOCHS_AHEAD = integers(1, 5)
"""The distance to a newer epoch that the node learns of and continues from."""
EPOCH_BUMPS = integers(0, 3)
"""The number of earlier bumps of the epoch of a producer or member."""
OFFSETS = integers(1, 2**40)
"""Offsets to commit: a coordinator does not compare them with any log."""
CONTROLLERS = integers(0, 2)
"""The index of one of three controllers."""


def versions_back(most: int) -> SearchStrategy[int]:
    """Draw the number of versions by which a request is behind the newest: 0 to `most`."""
    return integers(0, most)
