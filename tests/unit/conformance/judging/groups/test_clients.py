"""Owners of partitions, as clients of librdkafka tell them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.groups.clients import clients_share_nothing
from conformance.judging.groups.evidence import CLIENT_REMOVED, LOG_COMPACTED, MAY_BE_REMOVED
from conformance.judging.judge import judge_history
from history.readings import GroupRecord
from tests.support.groups import READ, GroupHistory, assignment, classic_generation, departed


def shared() -> GroupHistory:
    return GroupHistory().has("a", 0, 1)


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: shared().has("b", 1), ["two-owners"], id="its owner still has it"),
        pytest.param(lambda: shared().has("b", 1).gives_up("a", 0), ["two-owners"], id="its owner gives it up later"),
        pytest.param(lambda: shared().gives_up("a", 0).has("b", 1), ["held"], id="its owner gave it up"),
        pytest.param(lambda: shared().gives_up("a", 1).has("b", 1), ["two-owners"], id="its owner gave up another one"),
        pytest.param(lambda: shared().gives_up("a").has("b", 0, 1), ["held", "held"], id="its owner left"),
        pytest.param(
            lambda: shared().gives_up("a", 0).has("b", 1).gives_up("b").has("a", 0, 1),
            ["held", "held"],
            id="it came back",
        ),
        pytest.param(
            lambda: shared().gives_up("a", 0).has("b", 1).has("a", 0, 1),
            ["held", "two-owners"],
            id="it came back too early",
        ),
        pytest.param(lambda: shared().has("a", 0, 1, 2), [], id="its owner is assigned more"),
        pytest.param(lambda: shared().gives_up("a", 0).has("a", 0, 1), [], id="its owner has it again"),
        pytest.param(lambda: shared().has("b", 1).has("a", 0, how="lost"), [], id="its owner had been removed"),
        pytest.param(
            lambda: shared().has("b", 1).has("a", 0, how="lost").has("c", 1),
            ["two-owners"],
            id="its owner had been removed, and the next one had not",
        ),
        pytest.param(lambda: shared().has("b", 1).has("a", how="failed"), [], id="its owner failed for good"),
        pytest.param(lambda: shared().has("b", 1, group="other"), [], id="in another group"),
    ],
)
def test_partition_that_a_client_is_assigned(tells: Callable[[], GroupHistory], expected: list[str]) -> None:
    found = judge_history([clients_share_nothing], tells().history).observations
    assert {(one.requirement, one.case) for one in found} <= {("KIP1251-INV-08", "client")}
    assert [one.label or one.result for one in found] == expected


# --- what the coordinator says of clients that tell that they have one partition

OWNS = assignment("a", 1, {0: 1, 1: 1})
GAVE_UP = assignment("a", 2, {0: 1})
NEXT = assignment("b", 2, {1: 2})
OTHER = assignment("c", 1, {})


def robbed(*records: GroupRecord, missing: tuple[int, ...] = ()) -> GroupHistory:
    """Let b have partition 1 before a gives it up as it closes, and read the log."""
    history = GroupHistory().created_as(READ.id).has("a", 0, 1).has("b", 1).gives_up("a")
    return history.logs(*records, missing=missing)


def removed_once(*records: GroupRecord) -> GroupHistory:
    """Let a be removed once, be assigned partition 1 again, and have it when b does."""
    history = GroupHistory().created_as(READ.id).has("a", 1).gives_up("a").has("b", 1).gives_up("b")
    return history.has("a", 1).has("b", 1).gives_up("a").logs(*records)


A, B = assignment("a", 1, {1: 1}), assignment("b", 2, {1: 2})
B_GAVE_UP = assignment("b", 3, {})
ROUND = (A, departed("a"), B, B_GAVE_UP)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(robbed(OWNS, departed("a"), NEXT), [CLIENT_REMOVED.name], id="removed before"),
        pytest.param(robbed(OWNS, NEXT, departed("a")), ["two-owners"], id="removed later than the other was assigned"),
        pytest.param(robbed(OTHER, OWNS, departed("c"), NEXT), ["two-owners"], id="another member removed"),
        pytest.param(robbed(OWNS, NEXT), ["two-owners"], id="both hold it"),
        pytest.param(robbed(OWNS, GAVE_UP, NEXT), ["two-owners"], id="given up by the log, and not by the client"),
        pytest.param(robbed(OWNS, departed("a"), OWNS, NEXT), ["two-owners"], id="removed, and assigned it again"),
        pytest.param(robbed(NEXT, departed("b"), OWNS), [CLIENT_REMOVED.name], id="the client that told it first"),
        pytest.param(removed_once(*ROUND, A, departed("a"), B), ["held", "held", CLIENT_REMOVED.name], id="twice"),
        pytest.param(removed_once(*ROUND, A, B), ["held", "held", "two-owners"], id="removed in an earlier ownership"),
        pytest.param(robbed(OWNS, departed("a"), NEXT, missing=(0,)), [LOG_COMPACTED.name], id="records are missing"),
        pytest.param(
            robbed(classic_generation(1, a=(0, 1)), classic_generation(2, b=(1,))),
            [CLIENT_REMOVED.name],
            id="a later generation without it",
        ),
        pytest.param(
            robbed(classic_generation(1, a=(0, 1)), classic_generation(2, a=(0, 1), b=(1,))),
            ["two-owners"],
            id="a later generation with both",
        ),
    ],
)
def test_log_tells_whether_a_client_was_removed(history: GroupHistory, expected: list[str]) -> None:
    assert claims(history) == expected


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(
            lambda told: told.shows(("b", 2, (1,)), epoch=2).has("b", 1), CLIENT_REMOVED.name, id="without it"
        ),
        pytest.param(
            lambda told: told.has("b", 1).shows(("b", 2, (1,)), epoch=2), "two-owners", id="without it, later"
        ),
        pytest.param(
            lambda told: told.shows(("a", 1, (0, 1)), epoch=2).has("b", 1),
            "two-owners",
            id="with it, and without others",
        ),
        pytest.param(lambda told: told.later(44).has("b", 1), MAY_BE_REMOVED.name, id="its session may be over"),
        pytest.param(lambda told: told.later(30).has("b", 1), "two-owners", id="its session is not over"),
    ],
)
def test_description_counts_where_no_log_was_read(tells: Callable[[GroupHistory], GroupHistory], expected: str) -> None:
    assert claims(tells(shared()).gives_up("a")) == [expected]


def test_a_description_of_before_a_client_joined_does_not_count() -> None:
    assert claims(GroupHistory().shows(("b", 1, ()), epoch=1).has("a", 1).has("b", 1)) == ["two-owners"]


def claims(history: GroupHistory) -> list[str]:
    found = judge_history([clients_share_nothing], history.history)
    excused = [one.excuse for one in found.excuses for _ in range(one.times)]
    return [*(one.label or one.result for one in found.observations), *excused]
