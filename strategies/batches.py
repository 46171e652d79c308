"""Batches to write: how many records they have, and how they are compressed."""

from hypothesis.strategies import integers, sampled_from

from protocol.records import Codec

RECORDS = integers(1, 4)
"""The number of records of a batch, or of records written one after the other."""
FEW_RECORDS = integers(1, 3)
"""The number of records of each write that an example repeats several times."""
CODECS = sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD])
