"""Partitions that move for nothing, and those that move for a reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.groups.moves import nothing_moves_for_nothing
from conformance.judging.judge import judge_history
from protocol.codes import Error
from tests.support.groups import READ, GroupHistory, settled

BOTH = (READ.name, "nowhere")
Held = dict[str, tuple[int, ...]]
EVEN: Held = {"a": (0,), "b": (1,)}
TURNED: Held = {"a": (1,), "b": (0,)}


def shows(history: GroupHistory, held: Held, epoch: int) -> GroupHistory:
    return history.shows(*((id, epoch, had) for id, had in held.items()), epoch=epoch, topics=(READ.name,))


def assigned(before: Held = EVEN) -> GroupHistory:
    """Describe the group at epoch 2; Metadata shows both partitions of the topic."""
    history = settled().metadata(2, 1, 1, id=READ.id, count=2)
    return shows(history, before, 2)


def renamed(history: GroupHistory) -> GroupHistory:
    return history.beats("a", 2, 3, topics=BOTH)


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: shows(renamed(assigned()), TURNED, 3), ["moved-for-nothing"], id="moved"),
        pytest.param(
            lambda: shows(renamed(assigned()).kill(1).moved(2), TURNED, 3),
            ["moved-for-nothing"],
            id="at the next coordinator",
        ),
        pytest.param(lambda: shows(renamed(assigned()), EVEN, 3), ["held"], id="kept"),
        pytest.param(lambda: shows(assigned(), TURNED, 2), [], id="not assigned again"),
        pytest.param(lambda: shows(assigned().beats("a", 2, 3, pattern="t.*"), TURNED, 3), [], id="a pattern"),
        pytest.param(lambda: shows(renamed(renamed(assigned())), TURNED, 3), [], id="two changes"),
        pytest.param(
            lambda: shows(renamed(assigned()).joins("c").leaves("c"), TURNED, 3), [], id="another came and went"
        ),
        pytest.param(
            lambda: shows(renamed(assigned().has("c", 1)).has("c"), TURNED, 3),
            [],
            id="a client of its own came and went",
        ),
        pytest.param(lambda: shows(renamed(assigned()).joins("a"), TURNED, 3), [], id="one joined again"),
        pytest.param(lambda: shows(renamed(assigned()).created_as(READ.id), TURNED, 3), [], id="a topic was created"),
        pytest.param(
            lambda: shows(renamed(assigned({"a": (0, 1), "b": ()})), EVEN, 3), [], id="it was not balanced before"
        ),
        pytest.param(
            lambda: shows(assigned().beats("a", 2, 3, topics=BOTH, error=Error.FENCED_MEMBER_EPOCH), TURNED, 3),
            [],
            id="it was refused",
        ),
        pytest.param(lambda: shows(assigned().beats("a", 2, topics=BOTH, lost=True), TURNED, 3), [], id="unanswered"),
    ],
)
def test_assignment_after_a_change_of_names(tells: Callable[[], GroupHistory], expected: list[str]) -> None:
    found = judge_history([nothing_moves_for_nothing], tells().history).observations
    assert [one.label or one.result for one in found] == expected
