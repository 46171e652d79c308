"""Epochs that never go back."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from conformance.judging.excuses import STALE_COORDINATOR
from conformance.judging.groups.epochs import epochs_never_go_back, group_epochs_are_ordered
from conformance.judging.groups.evidence import DESCRIPTION_NOT_STABLE, GENERATION_NOT_STORED, GROUP_MAY_BE_DELETED
from conformance.judging.judge import judge_history
from protocol.codes import Error
from tests.support.groups import GroupHistory, handed_over, settled
from tests.support.judging import excused


def results(history: GroupHistory) -> set[tuple[str, str]]:
    found = judge_history([epochs_never_go_back], history.history).observations
    return {(one.case, one.label or one.result) for one in found}


def balanced() -> GroupHistory:
    """Describe the group at epoch 2, with a and b at it."""
    return handed_over().shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2)


FELL = ("one-coordinator", "epoch-regression")


@pytest.mark.parametrize(
    ("history", "fell"),
    [
        pytest.param(lambda: balanced().beats("a", 2), False, id="the same epoch"),
        pytest.param(lambda: balanced().beats("a", 2, 1), True, id="a member's in a heartbeat"),
        pytest.param(
            lambda: balanced().shows(("a", 1, (0,)), ("b", 2, (1,)), epoch=2), True, id="a member's, described"
        ),
        pytest.param(
            lambda: balanced().shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=1, target=1), True, id="the group's"
        ),
        pytest.param(
            lambda: balanced().shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2, target=1), True, id="the target's"
        ),
        pytest.param(lambda: settled().shows(("a", 1, (0, 1)), epoch=1), True, id="below that of a member"),
        pytest.param(lambda: balanced().beats("a", 1, error=Error.FENCED_MEMBER_EPOCH), False, id="refused"),
        pytest.param(lambda: balanced().leaves("a"), False, id="a leave"),
        pytest.param(lambda: settled().joins("c", 1), False, id="that of another member"),
    ],
)
def test_epoch_that_may_have_gone_back(history: object, fell: bool) -> None:
    assert callable(history)
    assert (FELL in results(history().beats("b", 2))) is fell


def test_epoch_that_the_next_coordinator_has_forgotten() -> None:
    assert ("fail-over", "epoch-regression") in results(balanced().moved(2).beats("a", 1, 1).beats("b", 2))


def test_epoch_that_the_next_coordinator_knows() -> None:
    assert ("fail-over", "held") in results(balanced().moved(2).beats("a", 2))


def test_generation_that_begins_again_for_a_classic_member() -> None:
    history = GroupHistory().classic_joins("a", 5).syncs("a", 5, (0,)).classic_joins("a", 1).syncs("a", 1, (0,))
    assert results(history) == {FELL}


def joined_twice(*, synced: int = 1) -> GroupHistory:
    """Let a join a classic group for a second and a third generation, without SyncGroup after the one that is `synced`."""
    history = GroupHistory().classic_joins("a", 1).syncs("a", 1, (0,))
    for generation in (2, 3):
        history.classic_joins("a", generation)
        if generation <= synced:
            history.syncs("a", generation, (0,))
    return history


def rejoins(history: GroupHistory, generation: int = 2) -> GroupHistory:
    return history.classic_joins("a", generation).syncs("a", generation, (0,))


def test_generation_that_was_never_stored() -> None:
    """A classic group stores its generation with the leader's assignment: the next coordinator goes on from an older one."""
    history = rejoins(joined_twice().kill(1).moved(2))
    assert {label for _, label in results(history)} == {"held"}
    assert ("fail-over", GENERATION_NOT_STORED) in excused(epochs_never_go_back, history)
    assert ("group-epochs", GENERATION_NOT_STORED) in excused(group_epochs_are_ordered, history)
    returned = rejoins(joined_twice().restart(1).moved(1))
    assert ("fail-over", GENERATION_NOT_STORED) in excused(epochs_never_go_back, returned)


@pytest.mark.parametrize(
    "tells",
    [
        pytest.param(lambda: rejoins(joined_twice(synced=3).kill(1).moved(2)), id="it was stored"),
        pytest.param(lambda: rejoins(joined_twice(synced=2).kill(1).moved(2), 1), id="one before it was stored"),
        pytest.param(lambda: rejoins(joined_twice()), id="at the same coordinator"),
        pytest.param(lambda: rejoins(joined_twice().kill(3)), id="another broker is lost"),
    ],
)
def test_generation_that_fell(tells: Callable[[], GroupHistory]) -> None:
    assert "epoch-regression" in {label for _, label in results(tells())}


def test_epoch_of_a_group_that_may_begin_again() -> None:
    history = GroupHistory().joins("a", 5, (0,)).leaves("a").joins("a", 1, (0,))
    assert excused(epochs_never_go_back, history) == [("one-coordinator", GROUP_MAY_BE_DELETED)]


@pytest.mark.parametrize(("pause", "expected"), [(30, []), (44, [("one-coordinator", GROUP_MAY_BE_DELETED)])])
def test_epoch_that_is_described_after_the_last_heartbeat(pause: float, expected: list[object]) -> None:
    """The members belong to the group until a session may be over."""
    history = balanced().later(pause).shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=1, target=1)
    assert [one for one in excused(epochs_never_go_back, history) if one[1] is GROUP_MAY_BE_DELETED][:1] == expected
    assert (FELL in results(history)) is not bool(expected)


def test_epoch_that_is_described_after_the_last_member_left() -> None:
    history = settled().shows(("a", 1, (0, 1)), ("b", 2, ()), epoch=2).leaves("a").leaves("b").shows(epoch=1)
    assert set(excused(epochs_never_go_back, history)) == {("one-coordinator", GROUP_MAY_BE_DELETED)}


def test_description_by_a_coordinator_that_took_over() -> None:
    history = balanced().kill(1).moved(2).shows(("a", 1, (0,)), ("b", 2, (1,)), epoch=2).beats("a", 2).beats("b", 2)
    assert excused(epochs_never_go_back, history) == [("fail-over", DESCRIPTION_NOT_STABLE)]


def test_description_by_a_coordinator_that_lost_the_group_and_has_it_again() -> None:
    """Two moves without an answer in between: the first coordinator has loaded the group again."""
    history = balanced().move(1, 2).move(2, 1)
    described = copy.deepcopy(history).shows(("a", 1, (0,)), ("b", 2, (1,)), epoch=2).beats("a", 2).beats("b", 2)
    assert excused(epochs_never_go_back, described) == [("one-coordinator", DESCRIPTION_NOT_STABLE)]
    beaten = history.beats("a", 2, 1).beats("b", 2)
    assert ("one-coordinator", "epoch-regression") in results(beaten)


def test_description_by_a_coordinator_that_took_over_and_granted_a_heartbeat() -> None:
    """Heartbeats of b are answered at its own epoch, so the highest one is still that of a at the former coordinator."""
    history = balanced().beats("a", 2, 3).kill(1).moved(2).beats("b", 2)
    history.shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2).beats("a", 3).beats("b", 2)
    assert ("fail-over", "epoch-regression") in results(history)


def test_heartbeat_at_a_coordinator_that_is_cut_off() -> None:
    history = balanced().hit("cut-off-from-controllers", 1).beats("a", 2, 1).beats("b", 2)
    assert ("one-coordinator", STALE_COORDINATOR) in excused(epochs_never_go_back, history)


def test_epochs_by_both_rows() -> None:
    history = balanced().beats("a", 2, 1).beats("b", 2)
    found = judge_history([group_epochs_are_ordered], history.history).observations
    assert ("group-epochs", "epoch-regression") in {(one.case, one.label) for one in found}
    assert {one.result for one in found} == {"held", "violated"}
