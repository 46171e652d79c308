"""Offsets of ownerships that ended, and offsets that were accepted or refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import load_deviations
from conformance.judging.excuses import OFFSETS_LOST, UNSTABLE_OFFSETS
from conformance.judging.groups.offsets import (
    commits_of_members_are_readable_or_refused,
    no_offset_of_an_ownership_that_ended,
)
from conformance.judging.judge import judge_history
from history.effects import Effects
from protocol.codes import Error
from tests.support.groups import GroupHistory, handed_over, revoked, settled
from tests.support.judging import excused

STALE = Error.STALE_MEMBER_EPOCH
LOST = Effects(process="restarts", abrupt=True, disk=("log-dir",), every_partition=True)


def zombies(history: GroupHistory) -> list[tuple[str, str]]:
    found = judge_history([no_offset_of_an_ownership_that_ended], history.history).observations
    return [(one.case, one.label or one.result) for one in found]


def in_flight() -> GroupHistory:
    """Let a send a commit before it gives up the partition, which b fetches then; the answer is lost."""
    history = revoked().commits("a", 1, 1, offset=3, lost=True).beats("a", 1, 2, owned=(0,)).beats("b", 2, given=(1,))
    return history.fetches(1, 1, member="b", epoch=2)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(
            lambda: handed_over().commits("a", 1, 1, offset=3).fetches(1, 3),
            [("plain", "zombie-offset")],
            id="accepted",
        ),
        pytest.param(
            lambda: handed_over().commits("a", 1, 1, offset=3, error=STALE).fetches(1, -1),
            [("plain", "held")],
            id="refused",
        ),
        pytest.param(
            lambda: handed_over().commits("a", 1, 1, offset=3, lost=True).fetches(1, 3),
            [("plain", "zombie-offset")],
            id="answer lost, shown",
        ),
        pytest.param(
            lambda: handed_over().commits("a", 1, 1, offset=3, lost=True).fetches(1, -1),
            [("plain", "held")],
            id="answer lost, not shown",
        ),
        pytest.param(lambda: handed_over().commits("a", 1, 1, offset=3, error=STALE), [], id="never fetched"),
        pytest.param(lambda: handed_over().commits("a", 1, 0, offset=3).fetches(0, 3), [], id="of what it kept"),
        pytest.param(lambda: handed_over().commits("a", 2, 1, offset=3).fetches(1, 3), [], id="unowned at its epoch"),
        pytest.param(
            lambda: (
                revoked()
                .commits("a", 1, 1, offset=3)
                .beats("a", 1, 2, owned=(0,))
                .beats("b", 2, given=(1,))
                .fetches(1, 3)
            ),
            [],
            id="before it was given up",
        ),
        pytest.param(
            lambda: handed_over().commits("b", 2, 1, offset=3).commits("a", 1, 1, offset=3, lost=True).fetches(1, 3),
            [("plain", "held")],
            id="the offset of its successor",
        ),
        pytest.param(lambda: in_flight().fetches(1, 3), [("plain", "zombie-offset")], id="in flight, after a fetch"),
        pytest.param(lambda: in_flight().fetches(1, 1), [("plain", "held")], id="in flight, and not shown"),
        pytest.param(
            lambda: settled().commits("a", 1, 1, offset=9).commits("a", 1, 1, offset=3).fetches(1, 3),
            [],
            id="moved back within one ownership",
        ),
        pytest.param(
            lambda: settled().leaves("a").beats("b", 2, 3, given=(1,)).commits("a", 1, 1, offset=3).fetches(1, 3),
            [("plain", "zombie-offset")],
            id="of a member that left",
        ),
        pytest.param(
            lambda: (
                settled()
                .later(44)
                .beats("b", 2, 3, given=(1,))
                .beats("a", 1, error=Error.UNKNOWN_MEMBER_ID)
                .commits("a", 1, 1, offset=3, error=Error.UNKNOWN_MEMBER_ID)
                .fetches(1, -1)
            ),
            [("plain", "held")],
            id="removed by its session, refused",
        ),
    ],
)
def test_offset_of_an_ownership_that_ended(history: object, expected: list[tuple[str, str]]) -> None:
    assert callable(history)
    assert zombies(history()) == expected


def test_late_marker_of_a_transaction() -> None:
    """b commits after the offset in the transaction was written; the marker comes later."""

    def shows(offset: int) -> GroupHistory:
        history = revoked().commits_in_transaction("a", 1, 1, offset=3).beats("a", 1, 2, owned=(0,))
        return history.beats("b", 2, given=(1,)).commits("b", 2, 1, offset=5).fetches(1, offset)

    assert zombies(shows(3)) == [("transactional", "zombie-offset")]
    assert zombies(shows(5)) == [("transactional", "held")]


def test_offset_of_a_transaction_that_is_decided_before_the_next_owner_fetches() -> None:
    history = revoked().commits_in_transaction("a", 1, 1, offset=3).beats("a", 1, 2, owned=(0,))
    assert zombies(history.beats("b", 2, given=(1,)).fetches(1, 3)) == []


@pytest.mark.parametrize(
    ("history", "is_current"),
    [
        pytest.param(lambda: revoked().beats("a", 1, owned=(0,)).beats("b", 2, given=(1,)), True, id="it stays"),
        pytest.param(handed_over, False, id="it is at the next one"),
        pytest.param(
            lambda: revoked().beats("a", 1, owned=(0,), lost=True).beats("b", 2, given=(1,)), False, id="in doubt"
        ),
    ],
)
def test_zombie_commit_at_the_current_epoch_is_a_known_deviation(
    history: Callable[[], GroupHistory], is_current: bool
) -> None:
    """A member that has to give up more stays at its epoch, at which another one's partition may be committed."""
    shown = history().commits("a", 1, 1, offset=3).fetches(1, 3)
    (found,) = judge_history([no_offset_of_an_ownership_that_ended], shown.history).observations
    assert (found.label, "its epoch at that time" in found.detail) == ("zombie-offset", is_current)
    (entry,) = [one for one in load_deviations(shipped_rows()) if one.covers("KIP1251-INV-09", "4.3.1")]
    assert entry.is_about(found.case, found.detail) is is_current


def test_zombie_after_the_log_was_lost() -> None:
    history = (
        handed_over().hit("wipe-disk", 1, effects=LOST).heal("wipe-disk", 1).commits("a", 1, 1, offset=3).fetches(1, 3)
    )
    assert excused(no_offset_of_an_ownership_that_ended, history) == [("plain", OFFSETS_LOST)]


def test_old_offset_in_a_fetch_that_is_not_stable() -> None:
    history = in_flight().kill(1).moved(2).fetches(1, 3, stable=False)
    assert excused(no_offset_of_an_ownership_that_ended, history) == [("plain", UNSTABLE_OFFSETS)]


# --- accepted and refused


def readable(history: GroupHistory) -> list[tuple[str, str]]:
    found = judge_history([commits_of_members_are_readable_or_refused], history.history).observations
    return [(one.case, one.label or one.result) for one in found]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(lambda: settled().commits("a", 1, 0, offset=3).fetches(0, 3), [("accepted", "held")], id="shown"),
        pytest.param(
            lambda: settled().commits("a", 1, 0, offset=3).fetches(0, 2), [("accepted", "lost-commit")], id="other"
        ),
        pytest.param(
            lambda: settled().commits("a", 1, 0, offset=3).kill(1).moved(2).fetches(0, -1),
            [("fail-over", "lost-commit")],
            id="lost by the next coordinator",
        ),
        pytest.param(
            lambda: settled().commits("a", 1, 0, offset=3).moved(2).fetches(0, 3), [("fail-over", "held")], id="loaded"
        ),
        pytest.param(lambda: settled().commits("", -1, 0, offset=3).fetches(0, 2), [], id="of no member"),
        pytest.param(
            lambda: settled().commits("a", 1, 0, offset=3).commits("a", 9, 0, offset=4, error=STALE).fetches(0, 4),
            [("accepted", "lost-commit"), ("refused", "refused-commit")],
            id="refused, and shown",
        ),
        pytest.param(
            lambda: settled().commits("a", 1, 0, offset=3).commits("a", 9, 0, offset=4, error=STALE).fetches(0, 3),
            [("accepted", "held"), ("refused", "held")],
            id="refused",
        ),
        pytest.param(
            lambda: settled().commits("a", 1, 0, offset=9).commits("a", 1, 0, offset=3).fetches(0, 3),
            [("accepted", "held")],
            id="moved back within one ownership",
        ),
    ],
)
def test_commit_of_a_member(history: object, expected: list[tuple[str, str]]) -> None:
    assert callable(history)
    assert readable(history()) == expected


def test_offset_of_a_transaction_that_was_written_before_the_last_commit() -> None:
    """The offset that was written last is kept, whenever the transaction ends (KIP1251-TXN-05)."""
    for error, expected in ((Error.NONE, "lost-commit"), (Error.COORDINATOR_NOT_AVAILABLE, "held")):
        history = settled().commits_in_transaction("a", 1, 1, offset=9, error=error).commits("a", 1, 1, offset=3)
        assert readable(history.fetches(1, 9)) == [("accepted", expected)]
    history = settled().commits("a", 1, 1, offset=3).commits_in_transaction("a", 1, 1, offset=9).fetches(1, 9)
    assert readable(history) == [("accepted", "held")]
