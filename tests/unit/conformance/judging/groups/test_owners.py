"""Owners of partitions, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.excuses import OFFSETS_LOST, STALE_COORDINATOR, Evidence
from conformance.judging.groups.evidence import GROUP_MAY_BE_DELETED, MAY_BE_REMOVED
from conformance.judging.groups.owners import (
    at_most_one_owner,
    members_of_both_kinds_share_nothing,
    owners_share_no_epoch,
    partition_is_given_after_it_was_given_up,
)
from conformance.judging.judge import judge_history
from history.effects import Effects
from protocol.codes import Error
from tests.support.groups import GROUP, READ, GroupHistory, handed_over, revoked, settled
from tests.support.judging import excused

JUDGES = [at_most_one_owner, partition_is_given_after_it_was_given_up, owners_share_no_epoch]
TRUNCATED = Effects(process="restarts", abrupt=True, disk=("log-tail",))


def results(history: GroupHistory) -> list[tuple[str, str, str]]:
    found = judge_history(JUDGES, history.history).observations
    return [(one.requirement.removeprefix("KIP1251-"), one.case, one.label or one.result) for one in found]


def held(case: str, owners: str = "dynamic", moved: str = "membership") -> list[tuple[str, str, str]]:
    return [("INV-08", owners, "held"), ("BASE-02", case, "held"), ("BASE-03", moved, "held")]


TWO_OWNERS = [("INV-08", "dynamic", "two-owners"), ("BASE-02", "acknowledged", "given-too-early")]


def away() -> GroupHistory:
    """Let the static member a leave to return."""
    return (
        GroupHistory().joins("a", 1, (0, 1), instance="i").joins("b", 2, ()).leaves("a", instance="i", to_return=True)
    )


def mixed() -> GroupHistory:
    """Let b join a group in which the classic member a has partitions 0 and 1."""
    return GroupHistory().created_as(READ.id).classic_joins("a", 1).syncs("a", 1, (0, 1)).joins("b", 2, ())


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(lambda: revoked().beats("b", 2, given=(1,)), id="it was not given up"),
        pytest.param(lambda: settled().beats("b", 2, given=(1,)), id="its owner was not told"),
        pytest.param(lambda: revoked().beats("a", 1).beats("b", 2, given=(1,)), id="its owner says nothing of it"),
        pytest.param(
            lambda: revoked().beats("a", 7, owned=(0,), error=Error.FENCED_MEMBER_EPOCH).beats("b", 2, given=(1,)),
            id="what gave it up was refused",
        ),
        pytest.param(
            lambda: revoked().beats("a", 1, owned=(0, 1)).beats("b", 2, given=(1,)), id="its owner says that it has it"
        ),
        pytest.param(
            lambda: revoked().beats("a", 1, given=(0, 1)).beats("b", 2, given=(1,)),
            id="its owner was shown it again before it gave it up",
        ),
    ],
)
def test_two_owners(history: object) -> None:
    assert callable(history)
    assert results(history()) == TWO_OWNERS


def test_next_owner_after_an_acknowledgement() -> None:
    assert results(handed_over()) == held("acknowledged")


def test_next_owner_after_an_acknowledgement_whose_answer_is_lost() -> None:
    assert results(revoked().beats("a", 1, owned=(0,), lost=True).beats("b", 2, given=(1,))) == held("acknowledged")


def test_next_owner_after_an_acknowledgement_that_may_not_have_been_replicated() -> None:
    history = revoked().beats("a", 1, owned=(0,), error=Error.COORDINATOR_NOT_AVAILABLE)
    assert results(history.beats("b", 2, given=(1,))) == held("acknowledged")


def test_next_owner_after_a_leave() -> None:
    assert results(settled().leaves("a").beats("b", 2, 3, given=(1,))) == held("left")


def test_next_owner_after_a_rejoin() -> None:
    history = revoked().joins("a", 2, (0,)).beats("b", 2, given=(1,))
    assert results(history) == held("acknowledged")


def test_next_owner_after_its_owner_was_removed() -> None:
    history = settled().later(44).beats("b", 2, 3, given=(0, 1)).beats("a", 1, error=Error.UNKNOWN_MEMBER_ID)
    assert sorted(results(history)) == sorted(held("removed") * 2)


def test_next_owner_once_the_former_one_may_be_removed() -> None:
    """No later answer says whether the former owner was removed."""
    history = settled().later(44).beats("b", 2, 3, given=(1,))
    assert results(history) == []
    assert excused(at_most_one_owner, history) == [("dynamic", MAY_BE_REMOVED)]


def test_answer_after_the_handover_shows_that_the_former_owner_was_not_removed() -> None:
    handed = settled().later(44).beats("b", 2, given=(1,))
    assert results(handed.beats("a", 1)) == TWO_OWNERS
    assert results(handed.later(44).beats("a", 1, error=Error.UNKNOWN_MEMBER_ID)) == TWO_OWNERS


def test_answer_to_a_former_owner_that_joins_again_does_not_show_that_it_stayed() -> None:
    history = settled().later(44).beats("b", 2, 3, given=(1,)).joins("a", 4, ()).beats("a", 4)
    assert excused(at_most_one_owner, history) == [("dynamic", MAY_BE_REMOVED)]


def test_coordinator_that_is_cut_off_does_not_show_that_the_former_owner_stayed() -> None:
    history = settled().later(44).beats("b", 2, 3, given=(1,)).hit("cut-off-from-controllers", 1).beats("a", 1)
    assert excused(at_most_one_owner, history) == [("dynamic", MAY_BE_REMOVED)]


@pytest.mark.parametrize(("pause", "expected"), [(12, []), (2, TWO_OWNERS)])
def test_classic_owner_that_had_to_give_up_more_before(pause: float, expected: list[object]) -> None:
    """Its rebalance timeout of 10 s is that of its epoch, which stays while it gives up one partition after the other."""
    history = mixed().classic_joins("a", 1, owned=(0, 1)).syncs("a", 1, (1,)).later(pause)
    history = history.classic_joins("a", 1, owned=(1,)).syncs("a", 1, ()).beats("b", 2, given=(1,))
    assert [one for one in results(history) if one in TWO_OWNERS] == expected


@pytest.mark.parametrize(
    ("answers", "pause", "expected"),
    [
        ([Error.COORDINATOR_NOT_AVAILABLE], 12, [("dynamic", MAY_BE_REMOVED)]),
        ([Error.COORDINATOR_NOT_AVAILABLE], 2, []),
        ([Error.COORDINATOR_LOAD_IN_PROGRESS], 12, []),
        ([Error.COORDINATOR_NOT_AVAILABLE, Error.NONE], 12, []),
        ([*[Error.COORDINATOR_NOT_AVAILABLE] * 2, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NONE], 12, []),
        ([Error.COORDINATOR_NOT_AVAILABLE, Error.REBALANCE_IN_PROGRESS, Error.NONE], 12, [("dynamic", MAY_BE_REMOVED)]),
        ([Error.REBALANCE_IN_PROGRESS, Error.NONE], 12, [("dynamic", MAY_BE_REMOVED)]),
    ],
)
def test_classic_owner_whose_heartbeat_may_have_begun_its_rebalance_timeout(
    answers: list[Error], pause: float, expected: list[tuple[str, Evidence]]
) -> None:
    """A coordinator that cannot replicate what it decided answers COORDINATOR_NOT_AVAILABLE in place of REBALANCE_IN_PROGRESS."""
    history = mixed()
    for error in answers:
        history = history.classic_beats("a", 1, error)
    history = history.later(pause).beats("b", 2, given=(1,))
    assert excused(at_most_one_owner, history) == expected
    assert (results(history) == TWO_OWNERS) is not bool(expected)


def test_next_owner_before_the_session_of_the_former_one_ends() -> None:
    history = settled().later(30).beats("b", 2, given=(1,))
    assert results(history) == TWO_OWNERS


def test_next_owner_while_a_short_session_may_have_ended() -> None:
    history = settled().alters(consumer_session_timeout_ms="6000").later(6).beats("b", 2, given=(1,))
    assert results(history) == []


@pytest.mark.parametrize(
    ("error", "expected"), [(Error.INVALID_CONFIG, TWO_OWNERS), (Error.REQUEST_TIMED_OUT, []), (Error.NONE, [])]
)
def test_next_owner_after_a_short_session_was_set(error: Error, expected: list[object]) -> None:
    history = settled().alters(error, consumer_session_timeout_ms="6000").later(6).beats("b", 2, given=(1,))
    assert results(history) == expected


def test_next_owner_once_the_rebalance_timeout_is_over() -> None:
    history = GroupHistory().joins("a", 1, (0, 1), rebalance_ms=2_000).beats("a", 1, owned=(0, 1)).joins("b", 2, ())
    asked = history.beats("a", 1, given=(0,)).later(2).beats("a", 1).beats("b", 2, given=(1,))
    assert excused(at_most_one_owner, asked) == [("dynamic", MAY_BE_REMOVED)]


def test_next_owner_while_the_former_one_has_no_rebalance_timeout_of_its_own() -> None:
    history = GroupHistory().joins("a", 1, (0, 1), rebalance_ms=-1).beats("a", 1, owned=(0, 1)).joins("b", 2, ())
    assert results(history.beats("a", 1, given=(0,)).beats("b", 2, given=(1,))) == TWO_OWNERS


def test_member_that_has_nothing_to_give_up_has_no_rebalance_timeout() -> None:
    history = GroupHistory().joins("a", 1, (0, 1), rebalance_ms=2_000).beats("a", 1, owned=(0, 1)).joins("b", 2, ())
    assert results(history.later(3).beats("a", 1).beats("b", 2, given=(1,))) == TWO_OWNERS


def test_partition_that_comes_back_to_its_owner() -> None:
    history = handed_over().beats("b", 2, 3, owned=()).beats("a", 2, 4, given=(0, 1))
    assert results(history) == [one for one in held("acknowledged") for _ in range(2)]


# --- static members


def test_returning_instance_is_the_same_owner() -> None:
    assert results(away().joins("c", 2, (0, 1), instance="i")) == []


def test_instance_that_is_robbed_while_it_is_away() -> None:
    history = away().beats("b", 2, 3, given=(1,)).joins("c", 3, (0, 1), instance="i")
    assert ("INV-08", "static", "two-owners") in results(history)


STATIC_ROBBED = [("INV-08", "static", "two-owners"), ("BASE-02", "acknowledged", "given-too-early")]


def told_and_away() -> GroupHistory:
    """Let the static member a leave to return while it has to give up partition 1."""
    history = (
        GroupHistory().joins("a", 1, (0, 1), instance="i").joins("b", 2, ()).beats("a", 1, given=(0,), instance="i")
    )
    return history.leaves("a", instance="i", to_return=True)


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(away, STATIC_ROBBED, id="is away"),
        pytest.param(lambda: away().kill(1).moved(2), STATIC_ROBBED, id="is away, and the coordinator is lost"),
        pytest.param(lambda: away().later(30), STATIC_ROBBED, id="is away for less than its session"),
        pytest.param(lambda: away().later(44), [], id="may be removed"),
        pytest.param(
            lambda: away().alters(consumer_session_timeout_ms="6000").later(6),
            [],
            id="may be removed by a short session",
        ),
        pytest.param(told_and_away, held("left", "static", "membership"), id="had to give it up"),
        pytest.param(
            lambda: away().joins("c", 2, (0,), instance="i"), held("left", "static", "membership"), id="has returned"
        ),
        pytest.param(
            lambda: away().joins("a", 2, (0,), instance="i"),
            held("acknowledged", "static", "membership"),
            id="has returned with its id",
        ),
        pytest.param(
            lambda: away().classic_joins("c", 2, instance="i"),
            held("left", "static", "membership"),
            id="has returned by the other protocol",
        ),
        pytest.param(
            lambda: away().classic_leaves("", instance="i"),
            held("left", "static", "membership"),
            id="was removed by an administrator",
        ),
        pytest.param(
            lambda: GroupHistory().joins("a", 1, (0, 1)).joins("b", 2, ()).leaves("a", to_return=True),
            held("left", "dynamic", "membership"),
            id="is no instance",
        ),
        pytest.param(
            lambda: (
                GroupHistory()
                .joins("a", 1, (0, 1), instance="i")
                .joins("b", 2, ())
                .beats("a", 1, instance="i", lost=True)
                .leaves("a", instance="i", to_return=True)
            ),
            held("left", "static", "membership"),
            id="may have been told to give it up",
        ),
    ],
)
def test_instance_that_loses_a_partition_to_another_member(
    tells: Callable[[], GroupHistory], expected: list[object]
) -> None:
    found = results(tells().beats("b", 2, 3, given=(1,)))
    assert found[: len(expected)] == expected
    assert expected or found == []


def test_session_of_an_instance_that_is_away_goes_on_from_its_last_heartbeat() -> None:
    joined = GroupHistory().joins("a", 1, (0, 1), instance="i").joins("b", 2, ())
    left = joined.later(30).leaves("a", instance="i", to_return=True).later(14)
    assert results(left.beats("b", 2, 3, given=(1,))) == []


# --- classic members


def test_classic_member_that_did_not_rejoin() -> None:
    assert results(mixed().beats("b", 2, given=(1,))) == TWO_OWNERS


def test_classic_member_in_a_running_rebalance_that_rejoined() -> None:
    asked = mixed().classic_beats("a", 1, Error.REBALANCE_IN_PROGRESS).classic_joins("a", 2, owned=(0,))
    assert results(asked.syncs("a", 2, (0,)).beats("b", 2, given=(1,))) == held("acknowledged")[:2]


def test_cooperative_member_that_rejoins_with_what_it_has() -> None:
    assert results(mixed().classic_joins("a", 2, owned=(0, 1)).beats("b", 2, given=(1,))) == TWO_OWNERS


@pytest.mark.parametrize(
    ("changed", "heals", "expected"),
    [
        ("during", "after", [("dynamic", STALE_COORDINATOR)]),
        ("before", "after", []),
        ("after", "after", []),
        ("during", "before", []),
    ],
)
def test_upgrade_by_a_coordinator_that_does_not_know_the_topic(
    changed: str, heals: str, expected: list[tuple[str, Evidence]]
) -> None:
    """It drops the partitions of a that it does not know. The cut heals before or after b joins, by which the group is upgraded;
    the topic is created before or during the cut, or after it."""
    history = GroupHistory()
    history = history.created_as(READ.id) if changed == "before" else history
    history = history.hit("cut-off-from-controllers", 1)
    history = history.created_as(READ.id) if changed == "during" else history
    history = history.classic_joins("a", 1).syncs("a", 1, (0, 1))
    history = history.heal("cut-off-from-controllers", 1) if heals == "before" else history
    history = history.joins("b", 2, ())
    history = history.heal("cut-off-from-controllers", 1) if heals == "after" else history
    history = history.created_as(READ.id) if changed == "after" else history
    assert excused(at_most_one_owner, history.beats("b", 2, given=(1,))) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [((1,), [("INV-08", "dynamic", "held"), ("BASE-02", "acknowledged", "held")]), ((), TWO_OWNERS)],
)
def test_group_is_upgraded_after_the_leader_has_moved_a_partition(
    given: tuple[int, ...], expected: list[tuple[str, str, str]]
) -> None:
    """The coordinator takes over that c has the partition of a, if the leader gave it to c; a has not rejoined since."""
    history = GroupHistory().created_as(READ.id).classic_joins("a", 1).syncs("a", 1, (0, 1)).classic_joins("c", 2)
    history.classic_joins("a", 2, owned=(0, 1)).syncs("c", 2, given).syncs("a", 2, (0,)).joins("b", 3, ())
    assert results(history.classic_joins("c", 3, owned=()).beats("b", 3, given=(1,))) == expected


@pytest.mark.parametrize(
    ("pause", "upgraded", "instance", "excuse"),
    [
        (10, False, None, MAY_BE_REMOVED),
        (8, False, None, None),
        (10, True, None, None),
        (10, False, "i", None),
    ],
    ids=["of a classic group", "too short", "of a group of the consumer protocol", "a static member"],
)
def test_classic_owner_that_may_be_left_behind_by_a_rebalance(
    pause: float, upgraded: bool, instance: str | None, excuse: Evidence | None
) -> None:
    """A rebalance that c begins ends after 10 s without a dynamic member that did not rejoin, though a session lasts longer."""
    history = GroupHistory().created_as(READ.id).classic_joins("a", 1, instance=instance).syncs("a", 1, (0, 1))
    if upgraded:
        history.joins("d", 2, ()).beats("d", 2)
    history.classic_joins("c", 2).later(pause).joins("b", 3, (1,))
    found = excused(at_most_one_owner, history)
    assert found == ([("static" if instance else "dynamic", excuse)] if excuse else [])
    assert ("two-owners" in {label for _, _, label in results(history)}) is (excuse is None)


@pytest.mark.parametrize(("pause", "group"), [(10, GROUP), (8, GROUP), (10, "other")])
def test_classic_owner_that_may_be_left_behind_for_a_client_of_its_own(pause: float, group: str) -> None:
    """The client's JoinGroup is not seen, and may have come right after the member's last request."""
    history = GroupHistory().created_as(READ.id).classic_joins("a", 1).syncs("a", 1, (0, 1)).later(pause)
    history.has("client", 2, group=group).joins("b", 3, (1,))
    is_excused = pause == 10 and group == GROUP
    assert excused(at_most_one_owner, history) == ([("dynamic", MAY_BE_REMOVED)] if is_excused else [])
    assert ("two-owners" in {label for _, _, label in results(history)}) is not is_excused


def test_classic_members_are_moved_by_their_leader() -> None:
    history = GroupHistory().classic_joins("a", 1).syncs("a", 1, (0, 1)).classic_joins("b", 1).syncs("b", 1, (1,))
    assert results(history) == []


def test_instance_that_an_administrator_removes() -> None:
    history = GroupHistory().joins("a", 1, (0, 1), instance="i").joins("b", 2, ()).classic_leaves("", instance="i")
    assert results(history.beats("b", 2, 3, given=(1,))) == held("left", "static")


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (lambda: mixed().beats("b", 2, given=(1,)), ["two-owners"]),
        (lambda: mixed().classic_joins("a", 2, owned=(0,)).beats("b", 2, given=(1,)), ["held"]),
        (lambda: mixed().beats("b", 2, given=(2,)).classic_joins("a", 2).syncs("a", 2, (0, 2)), ["two-owners"]),
        (lambda: mixed().classic_leaves("a").beats("b", 2, 3, given=(0,)), ["held"]),
        (lambda: revoked().beats("b", 2, given=(1,)), []),
    ],
)
def test_members_of_both_kinds(history: object, expected: list[str]) -> None:
    assert callable(history)
    found = judge_history([members_of_both_kinds_share_nothing], history().history).observations
    assert [one.label or one.result for one in found] == expected


# --- epochs


def test_next_owner_at_the_epoch_of_the_former_one() -> None:
    history = revoked().beats("a", 1, 2, owned=(0,)).beats("b", 1, 1, given=(1,))
    assert ("BASE-03", "membership", "shared-epoch") in results(history)


def test_epoch_that_was_answered_after_the_partition_was_taken_away_does_not_count() -> None:
    assert results(revoked().beats("a", 1, 2).beats("a", 2, 2, owned=(0,)).beats("b", 2, given=(1,)))[-1][2] == "held"


def test_next_owner_in_a_group_that_may_begin_again() -> None:
    history = GroupHistory().joins("a", 5, (0,)).leaves("a").joins("b", 1, (0,))
    assert excused(owners_share_no_epoch, history) == [("membership", GROUP_MAY_BE_DELETED)]


def test_subscription_that_changes_during_the_revocation() -> None:
    history = (
        revoked().beats("b", 2, topics=("topic", "other")).beats("a", 1, 3, owned=(0,)).beats("b", 2, 3, given=(1,))
    )
    assert results(history)[-1] == ("BASE-03", "subscription", "held")


def test_delayed_assignment() -> None:
    history = GroupHistory().alters(consumer_assignment_interval_ms="500").joins("a", 1, (0,)).joins("b", 2, ())
    moved = history.beats("a", 1, given=()).beats("a", 1, 3, owned=()).beats("b", 2, 3, given=(0,))
    assert results(moved)[-1] == ("BASE-03", "assignment-interval", "held")


# --- what a fault may have lost


@pytest.mark.parametrize(
    ("partition", "expected"),
    [("__consumer_offsets-1", [("dynamic", OFFSETS_LOST)]), ("__consumer_offsets-0", []), ("topic-0", [])],
)
def test_damage_to_the_log_of_the_group(partition: str, expected: list[tuple[str, Evidence]]) -> None:
    history = revoked().started_with(offsets_topic_num_partitions="3")
    history.hit("damage", 1, effects=TRUNCATED, partition=partition).heal("damage", 1)
    assert excused(at_most_one_owner, history.beats("b", 2, given=(1,))) == expected


def test_coordinator_that_does_not_hear_of_its_successor() -> None:
    history = revoked().hit("cut-off-from-controllers", 1).beats("b", 2, given=(1,))
    assert excused(at_most_one_owner, history) == [("dynamic", STALE_COORDINATOR)]


def test_partitions_come_in_their_order() -> None:
    """Judging again must give the same lines."""
    many = tuple(range(8))
    history = GroupHistory().joins("a", 1, many).joins("b", 2, ()).beats("b", 2, given=many)
    found = judge_history([at_most_one_owner], history.history).observations
    assert [one.detail.split(" partition ")[1][0] for one in found] == [str(n) for n in many]
