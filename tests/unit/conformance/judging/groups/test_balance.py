"""Groups that come to their balance, and those that do not."""

from __future__ import annotations

import copy

import pytest

from conformance.judging.excuses import STALE_COORDINATOR
from conformance.judging.groups.balance import group_becomes_stable
from conformance.judging.judge import judge_history
from protocol.codes import Error
from tests.support.groups import READ, GroupHistory, handed_over, keeps_up
from tests.support.judging import excused

CUT = "cut-off-from-controllers"


def results(history: GroupHistory) -> list[str]:
    return [one.label or one.result for one in judge_history([group_becomes_stable], history.history).observations]


def stuck(history: GroupHistory) -> GroupHistory:
    return history.shows(("a", 2, (0,)), ("b", 1, (1,)), epoch=2)


def cut(node: int) -> GroupHistory:
    return GroupHistory().hit(CUT, node)


def stable(history: GroupHistory) -> GroupHistory:
    return history.shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(lambda: stable(GroupHistory()), [], id="no change is known"),
        pytest.param(lambda: stuck(keeps_up(32)), ["stuck-group"], id="stuck"),
        pytest.param(lambda: stuck(keeps_up(26)), [], id="stuck, too early to say"),
        pytest.param(lambda: stable(handed_over()), ["held"], id="stable at once"),
        pytest.param(lambda: stable(keeps_up(40)), ["held"], id="stable, asked late"),
        pytest.param(lambda: stuck(stable(handed_over())), ["held"], id="stable, and then not"),
        pytest.param(lambda: stuck(keeps_up(20, keeps_up(20).kill(3))), [], id="a node has changed"),
        pytest.param(lambda: stuck(keeps_up(20, keeps_up(20).has("c"))), [], id="a client of its own has left"),
        pytest.param(
            lambda: stuck(keeps_up(20, keeps_up(20).has("c", group="other"))),
            ["stuck-group"],
            id="one of another group",
        ),
        pytest.param(lambda: stuck(keeps_up(20, keeps_up(20).joins("c", 2))), [], id="a member has joined"),
        pytest.param(lambda: stuck(keeps_up(20, keeps_up(20).leaves("c"))), [], id="a member has left"),
        pytest.param(
            lambda: stuck(keeps_up(20, keeps_up(20).beats("a", 2, topics=("other",)))),
            [],
            id="a subscription has changed",
        ),
        pytest.param(
            lambda: stuck(keeps_up(20, keeps_up(20).beats("a", 2, pattern="t.*"))), [], id="a pattern has changed"
        ),
        pytest.param(
            lambda: stuck(keeps_up(20, keeps_up(20).alters(Error.INVALID_CONFIG, consumer_session_timeout_ms="9000"))),
            ["stuck-group"],
            id="a setting was refused",
        ),
        pytest.param(lambda: stuck(keeps_up(20, keeps_up(20).created_as(READ.id))), [], id="a topic was created"),
        pytest.param(
            lambda: stuck(keeps_up(20, keeps_up(20).alters(consumer_session_timeout_ms="9000"))),
            [],
            id="a setting was altered",
        ),
        pytest.param(
            lambda: stuck(keeps_up(20, keeps_up(20).beats("b", 2, lost=True))), [], id="a request is unanswered"
        ),
        pytest.param(
            lambda: stuck(keeps_up(20, keeps_up(20).beats("b", 9, error=Error.FENCED_MEMBER_EPOCH))),
            [],
            id="one was refused",
        ),
        pytest.param(lambda: stuck(handed_over().later(40)), [], id="members that are silent"),
        pytest.param(
            lambda: stuck(keeps_up(32, handed_over().later(20))), ["stuck-group"], id="members that were silent before"
        ),
        pytest.param(lambda: stuck(keeps_up(26, handed_over().later(20))), [], id="members that just were silent"),
        pytest.param(lambda: stuck(keeps_up(32).later(8)), [], id="members that are silent again"),
        pytest.param(lambda: stuck(keeps_up(16, keeps_up(16).asleep(60))), [], id="the kit was asleep"),
    ],
)
def test_group_after_a_change(history: object, expected: list[str]) -> None:
    assert callable(history)
    assert results(history()) == expected


def unassigned(history: GroupHistory, *, partition: int = 0, pattern: str | None = None) -> GroupHistory:
    """Describe a stable group in which one partition at most has an owner; Metadata shows partition 0 of the topic. Members read
    it by its name, or by a pattern."""
    history = history.metadata(2, 1, 1, id=READ.id).joins("a", 2, ()).joins("b", 2, ()).beats("b", 2, given=(1,))
    topics = (READ.name,) if pattern is None else ()
    return keeps_up(32, history).shows(("a", 2, (partition,)), ("b", 2, ()), epoch=2, topics=topics, pattern=pattern)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(lambda: unassigned(GroupHistory(), partition=1), ["unassigned-partition"], id="none has it"),
        pytest.param(lambda: unassigned(GroupHistory()), ["held"], id="one has it"),
        pytest.param(
            lambda: unassigned(GroupHistory(), partition=1, pattern="(topic|other)"),
            ["unassigned-partition"],
            id="none that reads it by a pattern has it",
        ),
        pytest.param(
            lambda: unassigned(GroupHistory(), partition=1, pattern="top"),
            ["held"],
            id="a pattern that stands for a part of its name only",
        ),
        pytest.param(
            lambda: unassigned(cut(2).created_as(READ.id), partition=1),
            ["unassigned-partition"],
            id="another node is cut off",
        ),
        pytest.param(
            lambda: unassigned(GroupHistory().created_as(READ.id).hit(CUT, 1), partition=1),
            ["unassigned-partition"],
            id="it is older than the cut",
        ),
        pytest.param(
            lambda: unassigned(cut(1).created_as(READ.id).heal(CUT, 1), partition=1),
            ["unassigned-partition"],
            id="healed",
        ),
    ],
)
def test_partition_without_an_owner(history: object, expected: list[str]) -> None:
    assert callable(history)
    assert results(history()) == expected


def test_partitions_that_are_known_after_the_first_description() -> None:
    """A group that is described as stable before its topics are known is not stable by that."""
    history = GroupHistory().joins("a", 2, ()).joins("b", 2, ()).beats("b", 2, given=(1,))
    history.shows(("a", 2, (1,)), ("b", 2, ()), epoch=2, topics=(READ.name,)).metadata(2, 1, 1, id=READ.id)
    for partition, expected in ((1, ["unassigned-partition"]), (0, ["held"])):
        later = keeps_up(32, copy.deepcopy(history))
        assert results(later.shows(("a", 2, (partition,)), ("b", 2, ()), epoch=2, topics=(READ.name,))) == expected


def test_partition_of_a_topic_that_the_coordinator_may_not_know() -> None:
    history = unassigned(cut(1).created_as(READ.id), partition=1)
    assert results(history) == []
    assert excused(group_becomes_stable, history) == [("stable", STALE_COORDINATOR)]


def test_member_that_does_not_acknowledge_holds_the_group_up() -> None:
    history = handed_over()
    for _ in range(16):
        history.later(2).beats("a", 2, given=(0,)).beats("a", 2, owned=(0,)).beats("b", 2)
    assert results(stuck(history)) == []
