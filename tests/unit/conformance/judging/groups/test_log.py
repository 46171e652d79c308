"""The records of a group, alone and beside the answers."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import OFFSETS_LOST
from conformance.judging.groups.evidence import LOG_COMPACTED
from conformance.judging.groups.log import (
    answers_were_logged,
    at_most_one_owner_by_log,
    logged_epochs_are_in_order,
    refused_commits_are_not_logged,
)
from conformance.judging.judge import Judge, judge_history
from history.effects import Effects
from history.readings import GroupRecord
from protocol.codes import Error
from tests.support.groups import (
    READ,
    GroupHistory,
    assignment,
    departed,
    group_epoch,
    handed_over,
    identity,
    settled,
    stored,
    target_epoch,
)
from tests.support.judging import excused

LOST = Effects(process="restarts", abrupt=True, disk=("log-dir",), every_partition=True)
Records = list[GroupRecord]
TWO_CLASSIC: Records = [
    identity("a", classic=True),
    assignment("a", 1, {0: 1}),
    identity("b", classic=True),
    assignment("b", 1, {}),
]


def results(judge: Judge, history: GroupHistory) -> list[str]:
    return [one.label or one.result for one in judge_history([judge], history.history).observations]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([assignment("a", 1, {0: 1}), assignment("b", 2, {0: 2})], ["two-owners"], id="has it"),
        pytest.param(
            [assignment("a", 1, {}, {0: 1}), assignment("b", 2, {0: 2})], ["two-owners"], id="has to give it up"
        ),
        pytest.param(
            [assignment("a", 1, {0: 1}), assignment("a", 2, {}), assignment("b", 2, {0: 2})], ["held"], id="gave it up"
        ),
        pytest.param([assignment("a", 1, {0: 1}), departed("a"), assignment("b", 2, {0: 2})], ["held"], id="left"),
        pytest.param([assignment("a", 1, {0: 1}), assignment("a", 2, {0: 1})], [], id="keeps it"),
        pytest.param(
            [assignment("a", 1, {}, {0: 1}), assignment("a", 2, {0: 2})],
            [],
            id="is given it again before it gave it up",
        ),
        pytest.param(
            [identity("a", "i"), assignment("a", -2, {0: 0}), identity("c", "i"), assignment("c", 2, {0: 0})],
            [],
            id="an instance returns",
        ),
        pytest.param(
            [identity("a", "i"), assignment("a", -2, {0: 0}), assignment("b", 2, {0: 2})],
            ["two-owners"],
            id="an instance is robbed while it is away",
        ),
        pytest.param(
            [
                identity("a", classic=True),
                assignment("a", 1, {0: 1}),
                identity("b", classic=True),
                assignment("b", 1, {0: 1}),
            ],
            [],
            id="classic members, as their leader assigned them",
        ),
        pytest.param(
            [*TWO_CLASSIC, assignment("b", 2, {0: 2})], ["two-owners"], id="a classic member, by the coordinator"
        ),
        pytest.param(
            [*TWO_CLASSIC, assignment("a", 2, {}), assignment("b", 2, {0: 2})],
            ["held"],
            id="a classic member that gave it up",
        ),
        pytest.param(
            [identity("a", classic=True), assignment("a", 1, {0: 1}), identity("b"), assignment("b", 2, {0: 2})],
            ["two-owners"],
            id="a classic member that did not rejoin",
        ),
    ],
)
def test_owners_by_log(records: Records, expected: list[str]) -> None:
    assert results(at_most_one_owner_by_log, GroupHistory().logs(*records)) == expected


@pytest.mark.parametrize(
    ("epoch", "assigned", "target", "group", "expected"),
    [
        (2, {0: 1}, 2, 3, ["held"]),
        (2, {0: 3}, 3, 3, ["epoch-order"]),
        (3, {0: 1}, 2, 3, ["epoch-order"]),
        (2, {0: 1}, 4, 3, ["epoch-order"]),
        (2, {0: -1, 1: 2}, 2, 3, ["epoch-order"]),
        (-2, {0: 0}, 2, 3, ["held"]),
        (-2, {0: 1}, 2, 3, ["epoch-order"]),
    ],
)
def test_epochs_by_log(epoch: int, assigned: dict[int, int], target: int, group: int, expected: list[str]) -> None:
    history = GroupHistory().logs(group_epoch(group), target_epoch(target), assignment("a", epoch, assigned))
    assert results(logged_epochs_are_in_order, history) == expected


def test_epochs_before_the_read_are_not_known() -> None:
    assert results(logged_epochs_are_in_order, GroupHistory().logs(target_epoch(2), assignment("a", 3, {0: 1}))) == []


@pytest.mark.parametrize(
    ("next", "expected"),
    [
        ([assignment("c", 2, {0: 2})], ["held"]),
        ([], ["epoch-order"]),
        ([assignment("b", 2, {}), assignment("c", 2, {0: 2})], ["epoch-order", "held", "held"]),
        ([departed("b"), departed("c")], []),
        ([departed("b")], ["epoch-order"]),
    ],
)
def test_member_in_the_place_of_another_is_at_epoch_0_for_one_record(next: Records, expected: list[str]) -> None:
    history = GroupHistory().logs(group_epoch(2), target_epoch(2), assignment("c", 0, {0: 2}), *next)
    assert results(logged_epochs_are_in_order, history) == expected


LOGGED: Records = [
    group_epoch(1),
    target_epoch(1),
    assignment("a", 1, {0: 1, 1: 1}),
    group_epoch(2),
    target_epoch(2),
    assignment("b", 2, {}),
    assignment("a", 1, {0: 1}, {1: 1}),
    assignment("a", 2, {0: 1}),
    assignment("b", 2, {1: 2}),
]
"""The records behind `handed_over`."""


@pytest.mark.parametrize(
    ("shown", "held"),
    [
        pytest.param(lambda h: h.shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2), True, id="the last state"),
        pytest.param(lambda h: h.shows(("a", 1, (0,)), ("b", 2, ()), epoch=2), True, id="one in between"),
        pytest.param(
            lambda h: h.shows(("a", 1, (0, 1)), ("b", 2, ()), epoch=2), True, id="with what is to be given up"
        ),
        pytest.param(lambda h: h.shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=3), False, id="another group epoch"),
        pytest.param(lambda h: h.shows(("a", 2, (0, 1)), ("b", 2, (1,)), epoch=2), False, id="other partitions"),
        pytest.param(lambda h: h.shows(("a", 2, (0,)), epoch=2), False, id="a member is missing"),
        pytest.param(lambda h: h.beats("a", 2, 3), False, id="a member's epoch in a heartbeat"),
    ],
)
def test_answers_by_log(shown: object, held: bool) -> None:
    assert callable(shown)
    found = results(answers_were_logged, shown(handed_over()).logs(*LOGGED))
    assert ("other-than-logged" not in found) is held


@pytest.mark.parametrize(
    ("when", "expected"),
    [("between", "held"), ("before", "other-than-logged"), ("after", "other-than-logged"), ("", "other-than-logged")],
)
def test_description_without_the_partitions_of_a_topic(when: str, expected: str) -> None:
    """A coordinator leaves out a topic that was deleted, but not one that was created again, under the same name, before."""
    history = GroupHistory()
    history = (history.deleted() if when == "before" else history).created_as(READ.id)
    history = (history.deleted() if when == "between" else history).shows(("a", 2, ()), ("b", 2, ()), epoch=2)
    history = (history.deleted() if when == "after" else history).logs(*LOGGED)
    assert results(answers_were_logged, history) == [expected]


def test_answers_beside_a_log_that_was_compacted() -> None:
    history = handed_over().logs(*LOGGED, missing=(3,))
    assert excused(answers_were_logged, history) == [("group", LOG_COMPACTED)]


def test_description_of_a_group_without_members_shows_nothing() -> None:
    assert results(answers_were_logged, GroupHistory().shows(epoch=9).logs(group_epoch(1))) == []


def test_answers_after_the_read_are_not_compared() -> None:
    assert "other-than-logged" not in results(answers_were_logged, handed_over().logs(*LOGGED).beats("a", 2, 3))


def test_log_that_may_have_lost_records() -> None:
    history = handed_over().hit("wipe-disk", 1, effects=LOST).heal("wipe-disk", 1).logs(*LOGGED[:2])
    assert excused(answers_were_logged, history) == [("group", OFFSETS_LOST)]
    assert excused(at_most_one_owner_by_log, history) == [("log", OFFSETS_LOST)]


@pytest.mark.parametrize(
    ("offset", "again", "expected"), [(3, False, ["refused-commit"]), (2, False, ["held"]), (3, True, [])]
)
def test_refused_commit_in_the_log(offset: int, again: bool, expected: list[str]) -> None:
    """The same offset may be committed again, and accepted."""
    history = settled().commits("a", 9, 0, offset=3, error=Error.STALE_MEMBER_EPOCH)
    history = history.commits("a", 1, 0, offset=3) if again else history
    assert results(refused_commits_are_not_logged, history.logs(stored(0, offset))) == expected


def test_refused_commit_that_the_log_may_have_lost() -> None:
    history = settled().commits("a", 9, 0, offset=3, error=Error.STALE_MEMBER_EPOCH)
    assert excused(refused_commits_are_not_logged, history.logs(stored(0, 2), stored(0, 4), missing=(0,))) == [
        ("refused", LOG_COMPACTED)
    ]


def test_refused_commit_in_a_log_that_was_compacted() -> None:
    history = settled().commits("a", 9, 0, offset=3, error=Error.STALE_MEMBER_EPOCH)
    assert results(refused_commits_are_not_logged, history.logs(stored(0, 2), stored(0, 3), missing=(0,))) == [
        "refused-commit"
    ]
