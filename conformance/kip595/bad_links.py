"""Links between controllers that lose packets, or are cut again and again (KIP595-SC-24, KIP595-SC-25)."""

from collections.abc import Iterator

from hypothesis.strategies import integers

from conformance.core.checks import Claim, Claims, excuse, held_if
from conformance.judging.excuses import STARVED
from conformance.rigs.quorum.disturbed import (
    FETCH_TIMEOUT,
    DisturbedQuorum,
    accepts_a_write,
    quorum_scenario,
    settles,
)
from fixtures.faults.kinds.network import Drop, Loss
from history.due import is_starved
from protocol.log import LeaderAndEpoch
from protocol.since import since
from protocol.words import say

LOSSY_FOR = 20.0
"""Seconds of loss."""

PRE_VOTES_FROM = since("VoteRequest", "PreVote")
"""The version of Vote from which a voter that missed its leader first asks whether others miss it, too (KIP-996)."""

FLAPS = 6
"""The number of cuts, each of about one and a half seconds."""


@quorum_scenario("KIP595-SC-24", "KIP595-LIVE-09", percent=integers(10, 30))
def links_lose_packets(disturbed: DisturbedQuorum, percent: int) -> Claims:
    """All links of the leader to other controllers lose packets for a while, then none."""
    with disturbed.standing(Loss(role="active controller", peer="controllers", percent=percent)):
        disturbed.write_for(LOSSY_FOR)
    yield from progress_resumes(disturbed)
    yield from settles(disturbed)


@quorum_scenario("KIP595-SC-25", "KIP595-LIVE-09", pick=integers(0, 1))
def one_link_flaps(disturbed: DisturbedQuorum, pick: int) -> Claims:
    """The link between the leader and one follower is cut again and again, while that to the other one is clean. Before
    pre-votes the follower may take the leadership each time."""
    led, began = disturbed.quorum.agreed_leader(), disturbed.seconds()
    for _ in range(FLAPS):
        with disturbed.standing(Drop(role="voter", peer="active controller", pick=pick)):
            disturbed.write_for(0.5)
    yield from progress_resumes(disturbed)
    yield from settles(disturbed)
    if disturbed.quorum.version("Vote") >= PRE_VOTES_FROM:
        yield from keeps_its_epoch(disturbed, led, began)


def progress_resumes(disturbed: DisturbedQuorum) -> Claims:
    """Check LIVE-09 `progress`: a write is acknowledged in time."""
    yield from accepts_a_write(disturbed, "KIP595-LIVE-09", "progress")


def keeps_its_epoch(disturbed: DisturbedQuorum, led: LeaderAndEpoch, began: float) -> Iterator[Claim]:
    """Check LIVE-09 `clean-link`, which applies from 4.0: the leader led on in its epoch since links began to flap."""
    now = disturbed.quorum.agreed_leader()
    if now != led and is_starved(disturbed.bench.wait.recorded_late(disturbed.seconds() - began), FETCH_TIMEOUT):
        yield excuse(STARVED, row="KIP595-LIVE-09", case="clean-link")
        return
    yield held_if(now == led, row="KIP595-LIVE-09", case="clean-link", detail=f"{say(led)} led, then {say(now)}")
