"""Metadata logs of all controllers compared with each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.log_matching import (
    committed_prefix_never_changes,
    equal_offset_and_epoch_is_equal_bytes,
    logs_match,
    no_older_epoch_behind_a_committed_record,
    snapshots_of_one_id_are_equal,
)
from history.effects import Effects
from tests.support.metadata_log_pairs import OTHER, TAIL, beside
from tests.support.metadata_logs import LOG, SHORT, MetadataLogHistory
from tests.support.quorum import QuorumHistory

JUDGES = [
    logs_match,
    equal_offset_and_epoch_is_equal_bytes,
    committed_prefix_never_changes,
    no_older_epoch_behind_a_committed_record,
    snapshots_of_one_id_are_equal,
]
WIPED = Effects(process="down", disk=("log-dir",))


def results(judge: Judge, history: QuorumHistory) -> list[tuple[str, str]]:
    """The cases and results."""
    return [(one.case, one.result) for one in judge_history([judge], history.history).observations]


def details(judge: Judge, history: QuorumHistory) -> str:
    return "\n".join(one.detail for one in judge_history([judge], history.history).observations)


MATCHING: dict[str, tuple[MetadataLogHistory, list[tuple[str, str]]]] = {
    "equal logs": (beside(*LOG), [("same-epoch", "held"), ("committed", "held")]),
    "a shorter one": (beside(*SHORT), [("same-epoch", "held"), ("committed", "held")]),
    "one that begins with a snapshot": (
        beside(*LOG[1:], watermark=8, epoch=2),
        [("same-epoch", "held"), ("committed", "held")],
    ),
    "one that begins behind all that is committed": (beside(*LOG[2:], watermark=5), [("same-epoch", "held")]),
    "an empty one": (beside(), []),
    "other bytes in the middle": (beside(*OTHER), [("same-epoch", "violated"), ("committed", "violated")]),
    "a batch that one lacks": (beside(LOG[0], *LOG[2:]), [("same-epoch", "violated"), ("committed", "violated")]),
    "other bytes of another epoch, which are not committed": (
        beside(*TAIL),
        [("same-epoch", "held"), ("committed", "held")],
    ),
    "other bytes of another epoch, which are committed": (
        beside(*SHORT, (5, 5, 3), (6, 9, 3), watermark=8, epoch=2),
        [("same-epoch", "held"), ("committed", "violated")],
    ),
    "a tail that a deposed leader has not truncated": (beside(*TAIL, watermark=8, epoch=2), [("same-epoch", "held")]),
    "a torn tail of a running node": (
        beside(*LOG[:3], torn="30 bytes of a batch of 90"),
        [("same-epoch", "held"), ("committed", "held")],
    ),
}


@pytest.mark.parametrize("name", MATCHING)
def test_logs_match(name: str) -> None:
    history, found = MATCHING[name]
    assert results(logs_match, history) == found


def test_a_difference_is_told_with_its_place() -> None:
    assert (
        "controller-101 and controller-102 differ at offset 1, and both have a batch of epoch 2 at offset 6"
        in details(logs_match, beside(*OTHER))
    )


def test_a_log_is_compared_with_what_the_same_node_held_before() -> None:
    history = MetadataLogHistory().reads_log(101, *LOG)
    assert results(equal_offset_and_epoch_is_equal_bytes, history.reads_log(101, *OTHER)) == [("batches", "violated")]


COMMITTED: dict[str, tuple[MetadataLogHistory, list[str]]] = {
    "equal logs": (beside(*LOG), ["held"]),
    "a tail that a deposed leader has not truncated": (beside(*TAIL, watermark=8, epoch=2), []),
    "a log that does not reach the offsets": (beside((20, 21, 3)), []),
    "another epoch at a committed offset": (
        beside(*SHORT, (5, 5, 3), (6, 9, 3), watermark=8, epoch=2),
        ["violated"],
    ),
    "without a known high watermark": (beside(*OTHER, watermark=-1), []),
    "a high watermark that was named later": (
        MetadataLogHistory().reads_log(101, *LOG).reads_log(102, *OTHER).commits(5),
        [],
    ),
    "as a leader had answered it": (
        MetadataLogHistory().fetched((0, 0, 1), (1, 4, 1), epoch=1, watermark=5).reads_log(101, *LOG),
        ["held"],
    ),
    "otherwise than a leader had answered it": (
        MetadataLogHistory().fetched((0, 0, 1), (1, 3, 1), epoch=1, watermark=5).reads_log(101, *LOG),
        ["violated"],
    ),
    "otherwise above the high watermark in that answer": (
        MetadataLogHistory().fetched((0, 0, 1), (1, 3, 1), epoch=1, watermark=1).reads_log(101, *LOG),
        ["held"],
    ),
    "replaced on the same node": (
        MetadataLogHistory().commits(8, 2).reads_log(101, *LOG).reads_log(101, *SHORT, (5, 9, 3)),
        ["violated"],
    ),
}


@pytest.mark.parametrize("name", COMMITTED)
def test_what_is_committed_stays(name: str) -> None:
    history, found = COMMITTED[name]
    assert results(committed_prefix_never_changes, history) == [("batches", one) for one in found]


def test_an_older_epoch_behind_a_committed_record() -> None:
    wrong = beside(*SHORT, (5, 7, 1), (8, 9, 2), watermark=8, epoch=2)
    assert (
        "offset 5 of epoch 2 was committed on controller-101, and controller-102 holds epoch 1 at offset 5"
        in details(no_older_epoch_behind_a_committed_record, wrong).replace("Offset", "offset")
    )
    behind = beside(*SHORT, (5, 5, 2), (6, 9, 2), watermark=8, epoch=2)
    assert results(no_older_epoch_behind_a_committed_record, behind) == [("committed", "held")]


SNAPSHOTS: dict[str, tuple[list[tuple[int, int, str]], list[str]]] = {
    "the same id and content": ([(5, 1, "a")], ["held"]),
    "the same id and other content": ([(5, 1, "b")], ["violated"]),
    "two snapshots, one of them shared": ([(5, 1, "a"), (9, 2, "b")], ["held"]),
    "another end offset": ([(6, 1, "b")], []),
    "another epoch": ([(5, 2, "b")], []),
    "none": ([], []),
}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_snapshots_of_one_id_have_one_content(name: str) -> None:
    snapshots, found = SNAPSHOTS[name]
    history = (
        MetadataLogHistory().reads_log(101, *LOG, snapshots=[(5, 1, "a")]).reads_log(102, *LOG, snapshots=snapshots)
    )
    assert results(snapshots_of_one_id_are_equal, history) == [("content", one) for one in found]


def test_the_first_snapshot_of_a_formatted_log_is_compared_too() -> None:
    history = MetadataLogHistory().all_read(snapshots=[(0, 0, "formatted")])
    assert results(snapshots_of_one_id_are_equal, history) == [("content", "held")] * 3


@pytest.mark.parametrize("judge", JUDGES)
def test_an_older_history_without_a_read_shows_nothing(judge: Judge) -> None:
    judged = judge_history([judge], MetadataLogHistory().commits(5).knows(101, 102, 1).history)
    assert (judged.observations, judged.excuses, judged.raised) == ([], [], [])


def test_the_log_of_a_deposed_leader_is_counted() -> None:
    for judge, case in (
        (logs_match, "committed"),
        (no_older_epoch_behind_a_committed_record, "committed"),
        (committed_prefix_never_changes, "batches"),
    ):
        judged = judge_history([judge], beside(*TAIL, watermark=8, epoch=2).history)
        assert [(one.case, one.excuse) for one in judged.excuses] == [(case, "log-behind-the-epoch")]


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    "disturb",
    [
        lambda history: history.fault("wipe-disk", 101, effects=WIPED),
        lambda history: history.plays_peers(),
        lambda history: history.fetched((0, 0, 1), watermark=1, epoch=1, replica=103),
    ],
    ids=["a disk was lost", "the kit plays voters", "a request was forged"],
)
def test_what_the_row_excludes_is_counted(
    judge: Judge, disturb: Callable[[MetadataLogHistory], MetadataLogHistory]
) -> None:
    history = disturb(MetadataLogHistory().commits(5)).reads_log(101, *LOG, snapshots=[(5, 1, "a")])
    judged = judge_history([judge], history.reads_log(102, *OTHER, snapshots=[(5, 1, "b")]).history)
    assert judged.observations == []
    assert judged.excuses
