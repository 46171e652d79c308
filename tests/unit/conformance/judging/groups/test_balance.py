"""Groups that come to their balance, and those that do not."""

from __future__ import annotations

import pytest

from conformance.judging.groups.balance import group_becomes_stable
from conformance.judging.judge import judge_history
from protocol.codes import Error
from tests.support.groups import READ, GroupHistory, handed_over, keeps_up


def results(history: GroupHistory) -> list[str]:
    return [one.label or one.result for one in judge_history([group_becomes_stable], history.history).observations]


def stuck(history: GroupHistory) -> GroupHistory:
    return history.shows(("a", 2, (0,)), ("b", 1, (1,)), epoch=2)


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
        pytest.param(lambda: stuck(keeps_up(16, keeps_up(16).asleep(60))), [], id="the kit was asleep"),
    ],
)
def test_group_after_a_change(history: object, expected: list[str]) -> None:
    assert callable(history)
    assert results(history()) == expected


def test_member_that_does_not_acknowledge_holds_the_group_up() -> None:
    history = handed_over()
    for _ in range(16):
        history.later(2).beats("a", 2, given=(0,)).beats("a", 2, owned=(0,)).beats("b", 2)
    assert results(stuck(history)) == []
