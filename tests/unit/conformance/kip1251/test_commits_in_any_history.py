"""The rule of KIP-1251 as an oracle."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.kip1251.commits_in_any_history import MIDDLE, AlternatingOffsets, OldEpochCommit, older_commits
from conformance.rigs.groups.members import Hold, Ownership
from protocol.codes import Error
from protocol.groups import CommittedOffset, OffsetFetchAnswer

MEMBER: Any = object()


@pytest.mark.parametrize(
    ("hold", "back", "expected"),
    [
        ("assigned", 1, (6, "KIP1251-COMMIT-02", True)),
        ("assigned", 3, (4, "KIP1251-COMMIT-02", True)),
        ("assigned", 4, (3, "KIP1251-COMMIT-03", False)),
        ("assigned", 8, None),
        ("pending revocation", 3, (4, "KIP1251-COMMIT-07", True)),
        ("pending revocation", 4, (3, "KIP1251-COMMIT-07", False)),
        ("lost", 1, (7, "KIP1251-COMMIT-05", False)),
        ("lost", 4, (4, "KIP1251-COMMIT-05", False)),
        ("lost", 5, None),
    ],
)
def test_an_older_epoch_is_judged_by_the_assignment_epoch(
    hold: Hold, back: int, expected: tuple[int, str, bool] | None
) -> None:
    found = [(one.epoch, one.row, one.accepted) for one in older_commits(Ownership(MEMBER, 0, 4, 7, hold), back)]
    assert found == ([expected] if expected else [])


def read(offset: int) -> OffsetFetchAnswer:
    found = CommittedOffset(version=9, error=Error.NONE, partition=0, offset=offset)
    return OffsetFetchAnswer(version=9, partitions=(found,))


def one(accepted: bool) -> OldEpochCommit:
    return OldEpochCommit(MEMBER, 0, 1, "KIP1251-COMMIT-02", accepted)


def test_an_accepted_offset_has_to_be_read_and_a_refused_one_not() -> None:
    offsets = AlternatingOffsets()
    assert offsets.agree(one(accepted=False), 5, read(-1))
    assert not offsets.agree(one(accepted=False), 5, read(5))
    assert offsets.agree(one(accepted=True), 4, read(4))
    assert not offsets.agree(one(accepted=True), 3, read(4))
    assert offsets.agree(one(accepted=False), 9, read(4))


def test_offsets_go_up_and_down() -> None:
    offsets = AlternatingOffsets()
    assert [offsets.next() for _ in range(4)] == [MIDDLE + 1, MIDDLE - 2, MIDDLE + 3, MIDDLE - 4]
