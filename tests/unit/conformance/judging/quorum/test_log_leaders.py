"""Leaders in the metadata log."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.log_leaders import (
    granting_voters_voted_for_the_leader,
    later_leaders_hold_what_was_committed,
    leader_begins_above_all_committed_records,
    leader_change_names_a_majority,
    leader_change_opens_each_epoch,
    logs_name_one_leader_of_each_epoch,
    no_broker_is_in_a_leader_change,
)
from tests.support.metadata_log_pairs import alone, beside, granted, named
from tests.support.metadata_logs import LOG, SHORT, MetadataLogHistory
from tests.support.quorum import QuorumHistory


def results(judge: Judge, history: QuorumHistory) -> list[str]:
    return [one.result for one in judge_history([judge], history.history).observations]


def detail(judge: Judge, history: QuorumHistory) -> str:
    return "\n".join(one.detail for one in judge_history([judge], history.history).observations)


OPENED: dict[str, tuple[QuorumHistory, list[str]]] = {
    "both epochs open with their leader": (alone(), ["held", "held"]),
    "a record is missing": (alone(changes={2: None}), ["held", "violated"]),
    "a log that begins with a snapshot, within an epoch": (alone(LOG[3], (10, 11, 3)), ["held"]),
    "a record in a batch of another epoch": (alone(changes={2: {"epoch": 1}}), ["held", "violated"]),
    "a voter is missing": (named(102, 103), ["held", "violated"]),
    "a further voter": (named(101, 102, 103, 104), ["held", "violated"]),
    "a further voter that the kit plays": (named(101, 102, 103, 104).plays_peers(), ["held", "held"]),
    "a further voter that is described": (
        named(101, 102, 103, 104).described(9, 9, 9, 9, watermark=9, voters=(101, 102, 103, 104)),
        ["held", "held"],
    ),
    "a further voter that is not described": (
        named(101, 102, 103, 104).described(9, 9, 9, watermark=9),
        ["held", "violated"],
    ),
    "a voter is missing, and a further one described": (
        named(102, 103).described(9, 9, 9, 9, watermark=9, voters=(101, 102, 103, 104)),
        ["held", "violated"],
    ),
    "a further voter that is described, and that the kit does not play": (
        named(101, 102, 103, 104).described(9, 9, 9, 9, watermark=9, voters=(101, 102, 103, 104)).with_scripted(),
        ["held", "violated"],
    ),
    "the voters that the kit plays, and the real ones": (
        alone(changes={epoch: {"voters": (101, 102, 103, 104)} for epoch in (1, 2)}).plays_peers().with_scripted(104),
        ["held", "held"],
    ),
    "a further voter besides those that the kit plays": (
        named(101, 102, 103, 105).plays_peers().with_scripted(105, 104),
        ["violated", "violated"],
    ),
    "a leader who is no voter": (alone(changes={2: {"leader": 104}}), ["held", "violated"]),
    "another leader than was named": (alone().knows(102, 101, 2), ["held", "violated"]),
    "the leader that was named": (alone().knows(102, 103, 2), ["held", "held"]),
    "an empty log": (MetadataLogHistory().reads_log(101), []),
}


@pytest.mark.parametrize("name", OPENED)
def test_an_epoch_opens_with_its_leader(name: str) -> None:
    history, found = OPENED[name]
    assert results(leader_change_opens_each_epoch, history) == found


def test_a_missing_record_is_told_with_its_place() -> None:
    sentence = detail(leader_change_opens_each_epoch, alone(changes={2: None}))
    assert "the first batch of epoch 2, at offset 5, has no LeaderChange record" in sentence


@pytest.mark.parametrize(
    ("granting", "result"),
    [((101, 103), "held"), ((101, 102, 103), "held"), ((103,), "violated"), ((101, 102), "violated"), ((), "violated")],
)
def test_a_leader_has_the_votes_of_a_majority_and_its_own(granting: tuple[int, ...], result: str) -> None:
    assert results(leader_change_names_a_majority, granted(*granting)) == ["held", result]


def test_a_grant_of_a_stranger_is_none() -> None:
    assert results(leader_change_names_a_majority, granted(103, 104)) == ["held", "violated"]


VOTED: dict[str, tuple[QuorumHistory, list[str]]] = {
    "the vote of a granting voter": (granted(101, 103).vote(101, 103, 2, granted=True), ["held"]),
    "a granting voter's vote for another": (granted(101, 103).vote(101, 102, 2, granted=True), ["violated"]),
    "another voter's vote for another": (granted(101, 103).vote(102, 102, 2, granted=True), []),
    "a pre-vote for another": (granted(101, 103).vote(101, 102, 2, granted=True, pre_vote=True), []),
    "a vote for another in another epoch": (granted(101, 103).vote(101, 102, 3, granted=True), []),
    "a refused vote": (granted(101, 103).vote(101, 102, 2), []),
}


@pytest.mark.parametrize("name", VOTED)
def test_granting_voters_voted_for_the_leader(name: str) -> None:
    history, found = VOTED[name]
    assert results(granting_voters_voted_for_the_leader, history) == found


def test_logs_and_answers_name_one_leader() -> None:
    judge = logs_name_one_leader_of_each_epoch
    assert results(judge, beside(*LOG)) == ["held"] * 3
    assert results(judge, alone().knows(102, 103, 2)) == ["held"]
    assert results(judge, alone().knows(102, 101, 2)) == ["violated"]
    assert "in epoch 2" in detail(judge, alone().knows(102, 101, 2))


@pytest.mark.parametrize("fields", [{"leader": 1}, {"voters": (1, 102, 103)}, {"granting": (2, 103)}])
def test_a_broker_has_no_part_in_an_election(fields: dict[str, Any]) -> None:
    assert results(no_broker_is_in_a_leader_change, alone(changes={2: fields})) == ["violated"]
    assert results(no_broker_is_in_a_leader_change, alone()) == ["held"]


def test_a_leader_begins_above_all_committed_records() -> None:
    judge = leader_begins_above_all_committed_records
    assert results(judge, beside(*LOG, watermark=5)) == ["held"]
    assert results(judge, beside(*LOG, watermark=6)) == ["violated"]
    assert results(judge, beside(*LOG, watermark=6, epoch=2)) == []
    assert "leader 103 began epoch 2 at offset 5" in detail(judge, beside(*LOG, watermark=6)).lower()


LATER: dict[str, tuple[MetadataLogHistory, list[str]]] = {
    "all of it": (beside(*LOG, node=103), ["held"]),
    "a gap": (beside(LOG[0], *LOG[2:], node=103), ["violated"]),
    "too short": (beside(LOG[0], node=103), ["violated"]),
    "other bytes": (beside(LOG[0], (1, 4, 1, "other"), *LOG[2:], node=103), ["violated"]),
    "other bytes of the log of a deposed leader beside it": (
        MetadataLogHistory().commits(8, 2).reads_log(101, *SHORT, (5, 9, 1)).reads_log(102, *LOG, (10, 10, 5)),
        [],
    ),
    "behind a snapshot": (beside(*LOG[1:], node=103), ["held"]),
    "a snapshot of all that was committed": (beside(*LOG[2:], node=103), []),
    "no leader since": (beside(*LOG, node=103, watermark=8, epoch=2), []),
    "the log of the leader was not read": (beside(*LOG, node=102), []),
    "a torn tail behind it": (beside(*LOG, node=103, torn="30 bytes"), ["held"]),
}


@pytest.mark.parametrize("name", LATER)
def test_a_later_leader_holds_what_was_committed(name: str) -> None:
    history, found = LATER[name]
    assert results(later_leaders_hold_what_was_committed, history) == found


def test_a_torn_tail_below_the_high_watermark_leaves_it_open() -> None:
    judged = judge_history([later_leaders_hold_what_was_committed], beside(LOG[0], node=103, torn="30 bytes").history)
    assert judged.observations == []
    assert [(one.case, one.excuse) for one in judged.excuses] == [("later-leader", "metadata-log-torn")]
