"""The metadata log, as leaders serve it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.served_log import (
    committed_epochs_stay_in_order,
    divergence_is_as_the_log_has_it,
    epochs_of_batches_never_fall,
    high_watermark_is_known_after_the_epochs_start,
    high_watermark_lies_in_its_epoch,
)
from tests.support.metadata_logs import LOG as LOG_OF_TWO
from tests.support.metadata_logs import MetadataLogHistory
from tests.support.quorum import QuorumHistory

Happens = Callable[[QuorumHistory], QuorumHistory]
Results = list[tuple[str, str]]
LOG = ((0, 3, 1), (4, 8, 4))


def results(judge: Judge, history: QuorumHistory) -> Results:
    """Return the cases and results."""
    return [(one.case, one.result) for one in judge_history([judge], history.history).observations]


STARTS: dict[str, tuple[Happens, list[str]]] = {
    "above the start on disk": (lambda h: h.epochs(102, (1, 0), (4, 4)).described(9, 9, 9, watermark=5), ["held"]),
    "at the start on disk": (lambda h: h.epochs(102, (1, 0), (4, 4)).described(9, 9, 9, watermark=4), ["violated"]),
    "at the start in an answer": (lambda h: h.fetched(*LOG, watermark=4), ["violated"]),
    "above the start in an answer": (lambda h: h.fetched(*LOG, watermark=9), ["held"]),
    "where the log may begin inside the epoch": (
        lambda h: h.epochs(102, (4, 4)).described(9, 9, 9, watermark=4),
        [],
    ),
    "the first epoch of a whole log": (lambda h: h.epochs(102, (4, 0)).described(9, 9, 9, watermark=9), ["held"]),
    "none yet": (lambda h: h.epochs(102, (1, 0), (4, 4)).described(9, 9, 9, watermark=-1), []),
    "of another epoch": (lambda h: h.epochs(102, (1, 0), (4, 4)).described(9, 9, 9, watermark=4, epoch=3), []),
    "in a scripted quorum": (lambda h: h.plays_peers().fetched(*LOG, watermark=4), []),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_high_watermark_lies_above_the_start_of_its_epoch(name: str) -> None:
    happens, found = STARTS[name]
    history = happens(QuorumHistory())
    assert results(high_watermark_lies_in_its_epoch, history) == [("leader", one) for one in found]
    of_hw_01 = results(high_watermark_is_known_after_the_epochs_start, history)
    assert of_hw_01 == [("every-epoch", one) for one in found]


@pytest.mark.parametrize(("watermark", "result"), [(5, "violated"), (6, "held")])
def test_a_log_that_was_read_from_disk_shows_the_start_of_its_epochs(watermark: int, result: str) -> None:
    history = MetadataLogHistory().reads_log(103, *LOG_OF_TWO).described(9, 9, 9, watermark=watermark, epoch=2)
    assert results(high_watermark_lies_in_its_epoch, history) == [("leader", result)]


ORDERED: dict[str, tuple[Happens, list[str]]] = {
    "in order": (lambda h: h.fetched(*LOG), ["held"]),
    "the same answer twice": (lambda h: h.fetched(*LOG).fetched(*LOG), ["held"]),
    "an epoch falls": (lambda h: h.fetched((0, 3, 4), (4, 8, 3)), ["violated"]),
    "an epoch is above the leader's": (lambda h: h.fetched((0, 3, 1), (4, 8, 5)), ["violated"]),
    "no batches": (lambda h: h.fetched(), []),
    "in a scripted quorum": (lambda h: h.plays_peers().fetched((0, 3, 4), (4, 8, 3)), []),
}


@pytest.mark.parametrize("name", ORDERED)
def test_epochs_of_a_log_are_in_order(name: str) -> None:
    happens, found = ORDERED[name]
    history = happens(QuorumHistory())
    assert results(epochs_of_batches_never_fall, history) == [("batches", one) for one in found]
    assert results(committed_epochs_stay_in_order, history) == [("order", one) for one in found]


COMMITTED: dict[str, tuple[Happens, list[str]]] = {
    "the same": (lambda h: h.fetched(*LOG, by=102, epoch=5, watermark=9), ["held"]),
    "an older epoch at a committed offset": (
        lambda h: h.fetched((0, 3, 1), (4, 8, 3), by=102, epoch=5, watermark=9),
        ["violated"],
    ),
    "an older epoch behind it": (lambda h: h.fetched((9, 11, 3), by=102, epoch=5, watermark=12), ["violated"]),
    "an older epoch that is not committed": (lambda h: h.fetched((9, 11, 3), by=102, epoch=5, watermark=9), []),
    "an older epoch before it": (lambda h: h.fetched((0, 3, 1), by=102, epoch=5, watermark=9), ["held"]),
}


@pytest.mark.parametrize("name", COMMITTED)
def test_behind_a_committed_batch_nothing_older_is_committed(name: str) -> None:
    happens, found = COMMITTED[name]
    history = happens(QuorumHistory().fetched(*LOG, watermark=9))
    committed = [
        (case, result) for case, result in results(committed_epochs_stay_in_order, history) if case == "committed"
    ]
    assert committed == [("committed", one) for one in found]


FETCHES: dict[str, tuple[Happens, list[str]]] = {
    "a matching position": (lambda h: h.fetched(offset=4, last=1), ["held"]),
    "a matching position diverges": (lambda h: h.fetched(offset=4, last=1, diverging=(1, 4)), ["violated"]),
    "past the end of its epoch": (lambda h: h.fetched(offset=6, last=1, diverging=(1, 4)), ["held"]),
    "past the end of its epoch, one too high": (lambda h: h.fetched(offset=6, last=1, diverging=(1, 5)), ["violated"]),
    "past the end of its epoch, with batches": (
        lambda h: h.fetched((6, 8, 4), offset=6, last=1, diverging=(1, 4)),
        ["violated"],
    ),
    "past the end of its epoch, served": (lambda h: h.fetched((6, 8, 4), offset=6, last=1), ["violated"]),
    "of an epoch that the log lacks": (lambda h: h.fetched(offset=4, last=2, diverging=(1, 4)), ["held"]),
    "of an epoch that the log lacks, served": (lambda h: h.fetched(offset=4, last=2), ["violated"]),
    "from offset 0, of an epoch that the log lacks": (lambda h: h.fetched((0, 3, 1), last=2), ["held"]),
    "from offset 0, with another diverging epoch": (lambda h: h.fetched(last=2, diverging=(1, 5)), ["violated"]),
    "from offset 0, with a diverging epoch where it matches": (
        lambda h: h.fetched(last=1, diverging=(1, 4)),
        ["violated"],
    ),
    "below the first epoch": (lambda h: h.fetched(offset=4, last=0), []),
    "of the leader's epoch": (lambda h: h.fetched(offset=9, last=4), []),
    "past the log end": (lambda h: h.fetched(offset=20, last=4, diverging=(4, 9)), ["held"]),
    "past the log end, to its own position": (lambda h: h.fetched(offset=9, last=4, diverging=(4, 9)), ["violated"]),
    "to a later epoch, of another node": (lambda h: h.fetched(by=102, last=1, diverging=(2, 3)), ["violated"]),
    "of another node": (lambda h: h.fetched(by=102, offset=6, last=1), []),
    "of another epoch": (lambda h: h.fetched(epoch=5, offset=6, last=1), []),
    "refused": (lambda h: h.fetched(offset=6, last=1, error=6), []),
}


@pytest.mark.parametrize("name", FETCHES)
def test_a_fetch_diverges_where_the_log_has_it(name: str) -> None:
    happens, found = FETCHES[name]
    history = happens(QuorumHistory().epochs(101, (1, 0), (4, 4)))
    assert results(divergence_is_as_the_log_has_it, history) == [("every-fetch", one) for one in found]
