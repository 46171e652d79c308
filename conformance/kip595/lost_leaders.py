"""Leaders of the quorum that are lost one after the other: killed, frozen and cut off (KIP595-SC-08)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Literal

from hypothesis.strategies import permutations

from conformance.core.checks import Claim, Claims, held_if, premise
from conformance.rigs.quorum.disturbed import SETTLES_WITHIN, DisturbedQuorum, all_run, quorum_scenario, settles
from conformance.rigs.quorum.successors import successor_leads
from fixtures.faults.kinds.zombies import IsolatedControllerLeader
from protocol.codes import Error
from protocol.log import CONSUMER, FetchedPartition, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.quorum import METADATA
from protocol.words import say

How = Literal["killed", "paused", "cut"]
WAYS: tuple[How, ...] = ("killed", "paused", "cut")

WRITES_FOR = 2.0
"""Seconds of writing before each loss, and while the leader is gone."""


@quorum_scenario("KIP595-SC-08", "KIP595-ELEC-05", "KIP595-OBS-02", ways=permutations(WAYS))
def leaders_are_lost_in_turn(disturbed: DisturbedQuorum, ways: Sequence[How]) -> Claims:
    """Each time the others elect a leader, to which voters refer."""
    for how in ways:
        disturbed.write_for(WRITES_FOR)
        leader = disturbed.bench.name_of(disturbed.quorum.agreed_leader().leader_id)
        with take_away(disturbed, leader, how):
            yield from successor_leads(
                disturbed.bench, leader, row="KIP595-ELEC-05", case=how, within=SETTLES_WITHIN
            )  # fmt: skip
            yield from voters_refer_to(disturbed, leader)
            disturbed.write_for(WRITES_FOR)
        yield all_run(disturbed)
        back = disturbed.bench.wait.becomes_true(partial(all_agree, disturbed), "one leader again", SETTLES_WITHIN)
        yield premise(back, "one leader again", promised=("KIP595-LIVE-03", "agreement"))
    yield from settles(disturbed)


def all_agree(disturbed: DisturbedQuorum) -> bool:
    return disturbed.leader_if_agreed(disturbed.controllers) is not None


def take_away(disturbed: DisturbedQuorum, leader: str, how: How) -> AbstractContextManager[object]:
    """Take the leader away within a block."""
    if how == "cut":
        return disturbed.standing(IsolatedControllerLeader())
    return disturbed.away(leader, "active controller", frozen=how == "paused")


def voters_refer_to(disturbed: DisturbedQuorum, gone: str) -> Claims:
    """Check OBS-02 `not-leader`: the voter that follows answers a Fetch with the error and the leader."""
    led = disturbed.bench.eventually(
        lambda: disturbed.leader_if_agreed(disturbed.others(gone)), "two that agree", due="quorum"
    )
    [follower] = disturbed.others(gone, disturbed.bench.name_of(led.leader_id))
    answer = fetch_from(disturbed, follower, led)
    yield premise(disturbed.leader_if_agreed(disturbed.others(gone)) == led, "the same leader after the Fetch")
    yield refers_to(led, answer)


def refers_to(led: LeaderAndEpoch, answer: FetchedPartition) -> Claim:
    """Judge the answer of a voter that does not lead."""
    refers = answer.error is Error.NOT_LEADER_OR_FOLLOWER and answer.current_leader == led
    return held_if(refers, answer, row="KIP595-OBS-02", case="not-leader", detail=f"the leader was {say(led)}")


def fetch_from(disturbed: DisturbedQuorum, name: str, led: LeaderAndEpoch) -> FetchedPartition:
    """Fetch the metadata log from a controller in the leader's epoch, as a client."""
    quorum = disturbed.quorum
    wanted = FetchPartition(METADATA, 0, 0, led.leader_epoch, led.leader_epoch)
    return quorum.client(name).fetch(wanted, FetchOptions(replica_id=CONSUMER, cluster_id=quorum.cluster_id))
