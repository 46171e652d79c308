"""A refused commit leaves no trace (GEN-01): bad histories, each next to a legal one that comes close to it."""

from __future__ import annotations

import pytest

from conformance.judging.log.refused_commits import refused_commits_are_not_shown
from protocol.codes import Error
from tests.support.histories import LogHistory
from tests.support.judging import broken, judged_by, labels
from tests.support.producers import ProducerHistory


def settled() -> LogHistory:
    return LogHistory().created().settled(1, 0)


def results(history: LogHistory) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judged_by(refused_commits_are_not_shown, history)]


@pytest.mark.parametrize("error", [Error.STALE_MEMBER_EPOCH, Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID])
def test_a_refused_offset_is_not_shown(error: Error) -> None:
    refused = settled().commit(1, 5, 0, error=error)
    assert results(refused) == []
    assert results(refused.commit(1, 3, 0).committed(1, 3, 0)) == [("offsets", "held")]


def test_an_answer_without_an_offset_shows_nothing() -> None:
    refused = settled().commit(1, 5, 0, error=Error.STALE_MEMBER_EPOCH)
    assert results(refused.committed(1, -1, -1)) == []


def test_a_refused_offset_that_is_shown() -> None:
    bad = settled().commit(1, 5, 0, error=Error.STALE_MEMBER_EPOCH).committed(1, 5, 0)
    assert broken(refused_commits_are_not_shown, bad) == ["offsets"]
    assert labels(refused_commits_are_not_shown, bad) == {"refused-commit"}


def test_the_same_offset_with_another_epoch_is_of_another_commit() -> None:
    near = settled().commit(1, 5, 1).commit(1, 5, 0, error=Error.STALE_MEMBER_EPOCH).committed(1, 5, 1)
    assert results(near) == [("offsets", "held")]


def test_an_offset_that_another_commit_may_have_stored() -> None:
    refused = settled().commit(1, 5, 0, error=Error.STALE_MEMBER_EPOCH)
    assert broken(refused_commits_are_not_shown, refused.commit(1, 5, 0, lost=True).committed(1, 5, 0)) == []
    late = settled().commit(1, 5, 0, error=Error.STALE_MEMBER_EPOCH).committed(1, 5, 0).commit(1, 5, 0)
    assert broken(refused_commits_are_not_shown, late) == ["offsets"]


def test_a_commit_of_another_group_is_none_of_its_own() -> None:
    other = settled().commit(1, 5, 0, group="h").commit(1, 5, 0, error=Error.STALE_MEMBER_EPOCH).committed(1, 5, 0)
    assert broken(refused_commits_are_not_shown, other) == ["offsets"]


@pytest.mark.parametrize("error", [Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR, Error.REQUEST_TIMED_OUT])
def test_errors_after_which_the_outcome_is_open(error: Error) -> None:
    assert results(settled().commit(1, 5, 0, error=error).committed(1, 5, 0)) == []


def test_offsets_of_a_transaction_that_were_refused() -> None:
    """A commit of the transaction changes nothing of that."""
    fenced = ProducerHistory().commits(5, error=Error.PRODUCER_FENCED)
    assert broken(refused_commits_are_not_shown, fenced.committed(1, 5, -1)) == ["offsets"]
    pending = ProducerHistory().commits(5).commits(5, error=Error.PRODUCER_FENCED)
    assert results(pending.committed(1, 5, -1)) == [("offsets", "held")]
