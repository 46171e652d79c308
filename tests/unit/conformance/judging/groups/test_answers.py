"""Answers to members, by what their state demands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.catalogue.deviations import load_deviations
from conformance.catalogue.load import shipped_rows
from conformance.judging.excuses import STALE_COORDINATOR, UNSTABLE_OFFSETS
from conformance.judging.groups.answers import (
    each_answer_is_one_that_the_state_allows,
    honest_classic_members_stay,
    honest_members_stay,
    no_commit_is_refused_for_nothing,
)
from conformance.judging.groups.evidence import ASSIGNMENT_NOT_KNOWN, FORMER_RELEASE, MAY_BE_REMOVED, MEMBER_NOT_KNOWN
from conformance.judging.judge import Judge, judge_history
from protocol.codes import Error
from tests.support.groups import READ, GroupHistory, handed_over, revoked, settled
from tests.support.judging import excused

STALE, FENCED, UNKNOWN = Error.STALE_MEMBER_EPOCH, Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID
Tells = Callable[[], GroupHistory]


def last(judge: Judge, history: GroupHistory) -> tuple[str, str] | None:
    """Return the case and the result (or the label) of the last observation, if it is about the last answer."""
    found = [
        one for one in judge_history([judge], history.history).observations if one.events[-1] == history.events[-1].n
    ]
    return (found[-1].case, found[-1].label or found[-1].result) if found else None


def kept() -> GroupHistory:
    """Let a keep partition 0 since epoch 1 until epoch 2, and give it partition 1 again at epoch 4, after b."""
    return handed_over().beats("b", 2, 3, given=()).beats("b", 3, 4, owned=()).beats("a", 2, 4, given=(0, 1))


def fallen_silent(seconds: float) -> GroupHistory:
    return handed_over().later(seconds)


# --- spurious refusals


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: kept().commits("a", 1, 0, error=STALE), "spurious-refusal", id="kept since"),
        pytest.param(lambda: kept().commits("a", 1, 0), "held", id="kept since, accepted"),
        pytest.param(lambda: kept().commits("a", 4, 0, 1, error=STALE), "spurious-refusal", id="at its epoch"),
        pytest.param(
            lambda: kept().commits("a", 2, 0, error=Error.ILLEGAL_GENERATION), "spurious-refusal", id="as a generation"
        ),
        pytest.param(
            lambda: kept().commits("a", 2, 1, error=STALE), None, id="moved away and back within one membership"
        ),
        pytest.param(lambda: kept().commits("a", 2, 0, 1, error=STALE), None, id="with one that it had lost"),
        pytest.param(lambda: kept().commits("a", 5, 0, error=STALE), None, id="from the future"),
        pytest.param(lambda: kept().commits("a", 0, 0, error=STALE), None, id="before the assignment"),
        pytest.param(lambda: revoked().commits("a", 1, 1, error=STALE), "spurious-refusal", id="pending revocation"),
        pytest.param(
            lambda: settled().beats("a", 1, topics=("other",)).beats("a", 1, given=()).commits("a", 1, 1, error=STALE),
            None,
            id="no longer wanted",
        ),
        pytest.param(lambda: kept().commits("a", 1, 0, error=Error.NOT_COORDINATOR), None, id="another error"),
        pytest.param(lambda: kept().commits("a", 1, 0, error=STALE, instance="i"), None, id="as another instance"),
        pytest.param(lambda: kept().leaves("a").commits("a", 1, 0, error=STALE), None, id="after it left"),
    ],
)
def test_refusal_of_a_commit(tells: Tells, expected: str | None) -> None:
    found = last(no_commit_is_refused_for_nothing, tells())
    assert found == (expected and ("plain", expected))


def test_refusal_in_a_transaction() -> None:
    history = kept().commits_in_transaction("a", 1, 0, error=Error.ILLEGAL_GENERATION)
    assert last(no_commit_is_refused_for_nothing, history) == ("transactional", "spurious-refusal")


def test_refusal_of_a_member_that_may_be_removed() -> None:
    history = fallen_silent(44).commits("a", 2, 0, error=STALE)
    assert excused(no_commit_is_refused_for_nothing, history) == [("plain", MAY_BE_REMOVED)]


def test_refusal_of_a_member_that_stayed_after_its_silence() -> None:
    history = fallen_silent(44).commits("a", 2, 0, error=STALE).beats("a", 2)
    assert [one.label for one in judge_history([no_commit_is_refused_for_nothing], history.history).observations] == [
        "spurious-refusal"
    ]
    assert "wrong-answer" in [
        one.label
        for one in judge_history([each_answer_is_one_that_the_state_allows], history.history).observations
        if one.case == "commit"
    ]


def test_refusal_by_a_coordinator_that_is_cut_off() -> None:
    history = kept().hit("cut-off-from-controllers", 1).commits("a", 1, 0, error=STALE)
    assert excused(no_commit_is_refused_for_nothing, history) == [("plain", STALE_COORDINATOR)]


def test_refusal_for_a_topic_that_may_be_deleted() -> None:
    history = kept()
    assert READ.id is not None
    history.deleted(id=READ.id).commits("a", 1, 0, error=STALE)
    assert last(no_commit_is_refused_for_nothing, history) is None


@pytest.mark.parametrize(("at", "excuse"), [(1, [("plain", FORMER_RELEASE)]), (2, [])])
def test_refusal_by_a_release_without_assignment_epochs(at: int, excuse: list[object]) -> None:
    """It admits no epoch but the member's; a node that runs the column's own release has to admit older ones."""
    history = kept().becomes("4.2.2", 1).moved(at).commits("a", 1, 0, error=STALE)
    assert excused(no_commit_is_refused_for_nothing, history) == excuse


# --- answers


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: GroupHistory().joins("a", 2, (0,)), "wrong-answer", id="new"),
        pytest.param(
            lambda: GroupHistory().joins("a", 2, (0, 1)).beats("a", 2, owned=(0,)), None, id="left out by a heartbeat"
        ),
        pytest.param(
            lambda: GroupHistory().joins("a", 2, (0,)).beats("a", 2, lost=True).beats("a", 2).beats("a", 2),
            None,
            id="given by an answer that was lost",
        ),
    ],
)
def test_commit_before_the_epoch_at_which_a_partition_is_shown(tells: Tells, expected: str | None) -> None:
    """It may have been the member's since an epoch before that, if an answer was lost or it left the partition out."""
    history = tells().beats("a", 2, 3, given=(0, 1)).commits("a", 2, 1)
    assert last(each_answer_is_one_that_the_state_allows, history) == (expected and ("commit", expected))


@pytest.mark.parametrize("error", [Error.NONE, STALE])
@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: GroupHistory().joins("a", 1, (0, 1)).beats("a", 1, 2), None, id="by itself"),
        pytest.param(lambda: revoked().beats("a", 1, 2, owned=(0,)), "told", id="as it was told to"),
        pytest.param(
            lambda: GroupHistory().joins("a", 1, (0, 1)).beats("a", 1, 2, owned=()).beats("a", 2, given=(0,)),
            "told",
            id="by itself, and was told then that it has it not",
        ),
    ],
)
def test_commit_of_a_partition_that_a_heartbeat_left_out(tells: Tells, expected: str | None, error: Error) -> None:
    """The coordinator keeps for its member what it has not told it to give up."""
    history = tells().beats("a", 2, owned=(0,)).commits("a", 1, 1, error=error)
    found = last(each_answer_is_one_that_the_state_allows, history)
    if expected is None:
        assert found is None
        assert ("commit", ASSIGNMENT_NOT_KNOWN) in excused(each_answer_is_one_that_the_state_allows, history)
    else:
        assert found == ("commit", "held" if error else "wrong-answer")


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: kept().beats("a", 4), "held", id="at its epoch"),
        pytest.param(lambda: kept().beats("a", 4, error=FENCED), "wrong-answer", id="fenced at its epoch"),
        pytest.param(lambda: kept().beats("a", 5), "wrong-answer", id="granted above its epoch"),
        pytest.param(lambda: kept().beats("a", 5, error=FENCED), "held", id="fenced above its epoch"),
        pytest.param(
            lambda: kept().beats("a", 1, 4, owned=(0,)), "wrong-answer", id="granted below the previous epoch"
        ),
        pytest.param(
            lambda: kept().beats("a", 2, 4), "wrong-answer", id="granted without partitions at the previous epoch"
        ),
        pytest.param(lambda: kept().beats("a", 2, 4, owned=(0,)), None, id="at the previous epoch with its partitions"),
        pytest.param(lambda: kept().beats("a", 2, error=FENCED, owned=(0,)), None, id="fenced at the previous epoch"),
        pytest.param(lambda: kept().beats("a", 4, error=Error.COORDINATOR_NOT_AVAILABLE), None, id="another error"),
        pytest.param(lambda: kept().beats("a", 4, error=UNKNOWN, instance="i"), None, id="as another instance"),
    ],
)
def test_answer_to_a_heartbeat(tells: Tells, expected: str | None) -> None:
    found = last(each_answer_is_one_that_the_state_allows, tells())
    assert found == (expected and ("heartbeat", expected))


@pytest.mark.parametrize(("joining", "expected"), [("i", None), ("j", "wrong-answer")])
def test_member_whose_instance_a_classic_member_takes_is_gone(joining: str, expected: str | None) -> None:
    history = GroupHistory().joins("a", 1, (0, 1), instance="i").classic_joins("c", 2, instance=joining)
    history = history.beats("a", 1, error=Error.GROUP_ID_NOT_FOUND, instance="i")
    found = last(each_answer_is_one_that_the_state_allows, history)
    assert found == (expected and ("heartbeat", expected))


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: kept().commits("a", 4, 0, 1), "held", id="at its epoch"),
        pytest.param(lambda: kept().commits("b", 4, 1), "held", id="at its epoch for what it does not own"),
        pytest.param(lambda: kept().commits("a", 4, 0, error=STALE), "wrong-answer", id="refused at its epoch"),
        pytest.param(lambda: kept().commits("a", 5, 0), "wrong-answer", id="from the future"),
        pytest.param(lambda: kept().commits("a", 2, 1), "wrong-answer", id="of the ownership before"),
        pytest.param(lambda: kept().commits("a", 2, 0, 1, error=STALE), "held", id="with one of the ownership before"),
        pytest.param(lambda: kept().commits("b", 2, 1), "wrong-answer", id="of what it lost"),
        pytest.param(lambda: kept().commits("a", -1, 0), "wrong-answer", id="without an epoch"),
        pytest.param(lambda: kept().commits("a", 2, 0), None, id="below its epoch, of what it kept"),
        pytest.param(lambda: kept().commits("a", 2, 0, error=STALE), None, id="the same, refused"),
        pytest.param(lambda: kept().commits("a", 4, 0, error=Error.OFFSET_METADATA_TOO_LARGE), None, id="other error"),
        pytest.param(
            lambda: kept().leaves("b", to_return=True).commits("b", -2, 0),
            None,
            id="at -2, of a member that left to return",
        ),
    ],
)
def test_answer_to_a_commit(tells: Tells, expected: str | None) -> None:
    found = last(each_answer_is_one_that_the_state_allows, tells())
    assert found == (expected and ("commit", expected))


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: kept().fetches(0, 7, member="a", epoch=4), "held", id="at its epoch"),
        pytest.param(lambda: kept().fetches(0, 7, member="a", epoch=2), "wrong-answer", id="at an older epoch"),
        pytest.param(
            lambda: kept().fetches(0, -1, member="a", epoch=2, error=STALE), "held", id="refused at an older epoch"
        ),
        pytest.param(lambda: kept().fetches(0, -1, member="a", epoch=4, error=STALE), "wrong-answer", id="refused"),
        pytest.param(lambda: kept().fetches(0, 7), None, id="without a member"),
    ],
)
def test_answer_to_a_fetch(tells: Tells, expected: str | None) -> None:
    found = last(each_answer_is_one_that_the_state_allows, tells())
    assert found == (expected and ("fetch", expected))


@pytest.mark.parametrize(("named", "expected"), [(None, "wrong-answer"), ("i", "wrong-answer"), ("j", None)])
def test_answer_to_a_heartbeat_of_a_static_member(named: str | None, expected: str | None) -> None:
    history = GroupHistory().joins("a", 1, (0, 1), instance="i").beats("a", 1, error=FENCED, instance=named)
    found = last(each_answer_is_one_that_the_state_allows, history)
    assert found == (expected and ("heartbeat", expected))
    assert (last(honest_members_stay, history) == ("honest", "honest-member-removed")) is bool(expected)


def test_commit_that_another_request_of_the_member_overtakes() -> None:
    """Its member epoch may have risen; what it kept all the time is its own at either."""
    history = kept().commits_late("a", 4, 0, lambda h: h.beats("a", 4), STALE)
    assert excused(each_answer_is_one_that_the_state_allows, history) == [("commit", MEMBER_NOT_KNOWN)]
    assert last(no_commit_is_refused_for_nothing, history) == ("plain", "spurious-refusal")


def test_commit_that_a_leave_overtakes() -> None:
    history = kept().commits_late("a", 4, 0, lambda h: h.leaves("a"), STALE)
    assert excused(each_answer_is_one_that_the_state_allows, history) == []
    assert last(no_commit_is_refused_for_nothing, history) is None


def test_lost_answer_leaves_the_epoch_open_for_two_answers() -> None:
    lost = kept().beats("a", 4, lost=True).commits("a", 4, 0, error=STALE)
    assert excused(each_answer_is_one_that_the_state_allows, lost) == [("commit", MEMBER_NOT_KNOWN)]
    settles = kept().beats("a", 4, lost=True).beats("a", 4, given=(0, 1)).beats("a", 4).commits("a", 5, 0)
    assert last(each_answer_is_one_that_the_state_allows, settles) == ("commit", "wrong-answer")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Error.COORDINATOR_NOT_AVAILABLE, None),
        (Error.NOT_COORDINATOR, None),
        (Error.COORDINATOR_LOAD_IN_PROGRESS, ("heartbeat", "wrong-answer")),
    ],
)
def test_error_that_may_mean_an_append_that_was_not_replicated_in_time(
    error: Error, expected: tuple[str, str] | None
) -> None:
    """The coordinator may have raised the epoch: a timeout of its append is answered with COORDINATOR_NOT_AVAILABLE."""
    history = kept().beats("a", 4, error=error).beats("a", 4, error=FENCED)
    assert last(each_answer_is_one_that_the_state_allows, history) == expected
    assert last(honest_members_stay, history) == (expected and ("honest", "honest-member-removed"))


def test_lost_answer_leaves_the_assignment_open_until_an_answer_has_one() -> None:
    history = kept().beats("b", 4, lost=True).beats("b", 4).beats("b", 4).commits("b", 2, 1, error=Error.NONE)
    assert last(each_answer_is_one_that_the_state_allows, history) is None


@pytest.mark.parametrize(
    ("error", "unstable"), [(Error.COORDINATOR_LOAD_IN_PROGRESS, True), (Error.NONE, False)], ids=["loads", "granted"]
)
def test_fetch_that_is_not_stable_after_a_heartbeat_since_a_fault(error: Error, unstable: bool) -> None:
    """A coordinator that has granted a heartbeat knows what the former one answered."""
    history = kept().kill(2).moved(3).beats("a", 4, error=error)
    history.fetches(0, -1, member="a", epoch=4, error=STALE, stable=False)
    found = excused(each_answer_is_one_that_the_state_allows, history)
    assert found == ([("fetch", UNSTABLE_OFFSETS)] if unstable else [])
    assert last(each_answer_is_one_that_the_state_allows, history) == (None if unstable else ("fetch", "wrong-answer"))


def test_fetch_that_is_not_stable_after_a_fault() -> None:
    history = kept().kill(2).moved(3).fetches(0, -1, member="a", epoch=4, error=STALE, stable=False)
    assert excused(each_answer_is_one_that_the_state_allows, history) == [("fetch", UNSTABLE_OFFSETS)]


# --- removals


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: kept().beats("a", 4), ("honest", "held"), id="stays"),
        pytest.param(lambda: kept().beats("a", 4, error=FENCED), ("honest", "honest-member-removed"), id="is fenced"),
        pytest.param(
            lambda: kept().beats("a", 4, error=Error.INCONSISTENT_GROUP_PROTOCOL),
            ("honest", "honest-member-removed"),
            id="is taken for a member of another protocol",
        ),
        pytest.param(
            lambda: kept().beats("a", 4, error=Error.GROUP_ID_NOT_FOUND),
            ("honest", "honest-member-removed"),
            id="is refused, since the group is not known",
        ),
        pytest.param(
            lambda: fallen_silent(44).beats("a", 2, error=Error.INCONSISTENT_GROUP_PROTOCOL),
            None,
            id="is taken for a member of another protocol once it may be removed",
        ),
        pytest.param(lambda: kept().beats("a", 4, error=Error.NOT_COORDINATOR), None, id="is not served"),
        pytest.param(lambda: kept().beats("a", 9, error=FENCED), None, id="is fenced at a greater epoch"),
        pytest.param(
            lambda: kept().joins("c", error=UNKNOWN), ("honest", "honest-member-removed"), id="is not known as it joins"
        ),
        pytest.param(
            lambda: kept().joins("c", error=FENCED), ("honest", "honest-member-removed"), id="is fenced as it joins"
        ),
        pytest.param(
            lambda: kept().joins("a", error=UNKNOWN),
            ("honest", "honest-member-removed"),
            id="is not known as it joins again",
        ),
        pytest.param(lambda: kept().joins("a", error=FENCED), None, id="is fenced as it joins again"),
        pytest.param(
            lambda: kept().joins("d", instance="i").joins("c", instance="i", error=Error.UNRELEASED_INSTANCE_ID),
            None,
            id="joins in another's place",
        ),
        pytest.param(
            lambda: (
                kept().joins("d", instance="i", lost=True).joins("c", instance="i", error=Error.UNRELEASED_INSTANCE_ID)
            ),
            None,
            id="joins in the place of one that may have joined",
        ),
        pytest.param(
            lambda: (
                kept().joins("c", instance="i", lost=True).joins("c", instance="i", error=Error.UNRELEASED_INSTANCE_ID)
            ),
            ("honest", "honest-member-removed"),
            id="joins again, since the answer was lost",
        ),
        pytest.param(
            lambda: kept().beats("a", 9, error=UNKNOWN),
            ("time-out", "removed-too-early"),
            id="is removed at a greater epoch",
        ),
        pytest.param(
            lambda: fallen_silent(44).beats("a", 2, error=UNKNOWN), ("time-out", "held"), id="is removed by its session"
        ),
        pytest.param(lambda: fallen_silent(44).beats("a", 2), None, id="is still there"),
        pytest.param(
            lambda: fallen_silent(30).beats("a", 2, error=UNKNOWN),
            ("time-out", "removed-too-early"),
            id="is removed before its session ends",
        ),
        pytest.param(lambda: kept().leaves("a").beats("a", 4, error=UNKNOWN), None, id="has left"),
        pytest.param(
            lambda: kept().beats("a", 4, error=UNKNOWN, instance="i"),
            None,
            id="is called as an instance that it is not",
        ),
    ],
)
def test_member_that_heartbeats(tells: Tells, expected: tuple[str, str] | None) -> None:
    assert last(honest_members_stay, tells()) == expected


def test_the_known_refusal_of_a_repeated_join_is_told_as_its_entry_says() -> None:
    known = [one for one in load_deviations(shipped_rows()) if one.covers("KIP1251-INV-13", "4.3.1")]
    (entry,) = [one for one in known if "UNRELEASED_INSTANCE_ID" in one.says]
    joined = kept().joins("c", instance="i", lost=True)
    findings = {
        error: judge_history([honest_members_stay], joined.joins("c", instance="i", error=error).history).observations[
            -1
        ]
        for error in (Error.UNRELEASED_INSTANCE_ID, UNKNOWN)
    }
    assert entry.is_about("honest", findings[Error.UNRELEASED_INSTANCE_ID].detail)
    assert not entry.is_about("honest", findings[UNKNOWN].detail)


def test_member_that_keeps_a_partition_beyond_its_rebalance_timeout() -> None:
    history = GroupHistory().joins("a", 1, (0, 1), rebalance_ms=2_000).beats("a", 1, owned=(0, 1)).joins("b", 2, ())
    asked = history.beats("a", 1, given=(0,)).later(2).beats("a", 1, error=UNKNOWN)
    assert last(honest_members_stay, asked) == ("time-out", "held")
    acknowledged = (
        GroupHistory().joins("a", 1, (0, 1), rebalance_ms=2_000).beats("a", 1, owned=(0, 1)).joins("b", 2, ())
    )
    acknowledged.beats("a", 1, given=(0,)).beats("a", 1, 2, owned=(0,)).later(2).beats("a", 2, error=UNKNOWN)
    assert last(honest_members_stay, acknowledged) == ("time-out", "removed-too-early")


def upgraded() -> GroupHistory:
    """Let a classic member join, and then b by the consumer protocol, which upgrades the group."""
    history = GroupHistory().created_as(READ.id).classic_joins("a", 1).syncs("a", 1, (0, 1))
    return history.joins("b", 2, ()).classic_beats("a", 1)


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: upgraded().classic_beats("a", 1), "held", id="stays"),
        pytest.param(lambda: upgraded().classic_beats("a", 1, UNKNOWN), "honest-member-removed", id="is forgotten"),
        pytest.param(
            lambda: upgraded().kill(1).moved(2).classic_beats("a", 1, UNKNOWN),
            "honest-member-removed",
            id="is forgotten by the next coordinator",
        ),
        pytest.param(
            lambda: upgraded().moved(2).classic_beats("a", 1, Error.NOT_COORDINATOR).classic_beats("a", 1, UNKNOWN),
            "honest-member-removed",
            id="is forgotten once the group is loaded",
        ),
        pytest.param(lambda: upgraded().classic_leaves("a").classic_beats("a", 1, UNKNOWN), None, id="has left"),
        pytest.param(lambda: upgraded().later(60).classic_beats("a", 1, UNKNOWN), None, id="was silent"),
        pytest.param(
            lambda: upgraded().classic_joins("a", 2).classic_beats("a", 2, UNKNOWN),
            None,
            id="has not been assigned yet",
        ),
        pytest.param(
            lambda: upgraded().classic_beats("a", 1, Error.REBALANCE_IN_PROGRESS).classic_beats("a", 1, UNKNOWN),
            None,
            id="has to rejoin",
        ),
        pytest.param(
            lambda: GroupHistory().classic_joins("a", 1).syncs("a", 1, (0,)).classic_beats("a", 1, UNKNOWN),
            None,
            id="in a classic group",
        ),
        pytest.param(
            lambda: (
                GroupHistory()
                .joins("b", 1)
                .leaves("b")
                .classic_joins("a", 2)
                .syncs("a", 2, ())
                .classic_beats("a", 2, UNKNOWN)
            ),
            None,
            id="in a group that was of the consumer protocol before",
        ),
    ],
)
def test_classic_member_that_heartbeats(tells: Tells, expected: str | None) -> None:
    assert last(honest_classic_members_stay, tells()) == (expected and ("honest", expected))


def rejoined() -> GroupHistory:
    """Let a classic member rejoin a group that has been upgraded."""
    return upgraded().classic_beats("a", 1, Error.REBALANCE_IN_PROGRESS).classic_joins("a", 2)


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: rejoined().syncs("a", 2), "held", id="is assigned"),
        pytest.param(lambda: rejoined().syncs("a", 2, error=UNKNOWN), "honest-member-removed", id="is forgotten"),
        pytest.param(
            lambda: (
                rejoined().moved(2).syncs("a", 2, error=Error.COORDINATOR_LOAD_IN_PROGRESS).syncs("a", 2, error=UNKNOWN)
            ),
            "honest-member-removed",
            id="is forgotten by the next coordinator",
        ),
        pytest.param(lambda: rejoined().syncs("a", 1, error=UNKNOWN), None, id="asks at the generation before"),
        pytest.param(lambda: rejoined().later(60).syncs("a", 2, error=UNKNOWN), None, id="was silent"),
        pytest.param(lambda: rejoined().classic_leaves("a").syncs("a", 2, error=UNKNOWN), None, id="has left"),
        pytest.param(
            lambda: upgraded().leaves("b").classic_joins("a", 2).syncs("a", 2, error=UNKNOWN),
            None,
            id="in a group that is downgraded",
        ),
        pytest.param(
            lambda: GroupHistory().classic_joins("a", 1).syncs("a", 1, error=UNKNOWN), None, id="in a classic group"
        ),
    ],
)
def test_classic_member_that_asks_for_its_assignment(tells: Tells, expected: str | None) -> None:
    """In a classic group the next coordinator does not know who has joined and was not assigned yet."""
    assert last(honest_classic_members_stay, tells()) == (expected and ("honest", expected))
