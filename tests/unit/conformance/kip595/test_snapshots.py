"""The pieces of a snapshot that FetchSnapshot returns (KIP595-SNAP-01)."""

from __future__ import annotations

import pytest

from conformance.kip595.snapshots import are_pieces_of
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, SnapshotPiece

CONTENT = b"0123456789"


def piece(position: int, records: bytes | None, size: int = len(CONTENT)) -> SnapshotPiece:
    return SnapshotPiece(
        version=1,
        topic=METADATA_TOPIC,
        partition=0,
        error=Error.NONE,
        size=size,
        position=position,
        unaligned_records=records,
    )


PIECES: dict[str, tuple[list[SnapshotPiece], bool]] = {
    "one": ([piece(0, CONTENT)], True),
    "two": ([piece(0, CONTENT[:6]), piece(6, CONTENT[6:])], True),
    "the first again": ([piece(0, CONTENT[:6]), piece(6, CONTENT[:4])], False),
    "another position": ([piece(0, CONTENT[:6]), piece(0, CONTENT[6:])], False),
    "too few": ([piece(0, CONTENT[:6])], False),
    "another size": ([piece(0, CONTENT, size=11)], False),
    "none": ([piece(0, None)], False),
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_make_up_the_snapshot(name: str) -> None:
    served, right = PIECES[name]
    assert are_pieces_of(CONTENT, served) is right
