"""A voter that is cut off from the others for ten fetch timeouts, and comes back (KIP595-SC-02, KIP595-SC-03)."""

from typing import Literal, NamedTuple

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, excuse, held_if, kept_if
from conformance.judging.excuses import STARVED
from conformance.rigs.quorum.disturbed import (
    CALM,
    FETCH_TIMEOUT,
    DisturbedQuorum,
    held_at_rest,
    quorum_scenario,
    settles,
)
from fixtures.faults.kinds.network import Drop, Reject
from fixtures.faults.kinds.zombies import IsolatedControllerLeader
from history.due import is_starved
from protocol.log import LeaderAndEpoch
from protocol.words import say

DARK_FOR = 10 * FETCH_TIMEOUT + 1.0
"""Seconds of isolation: ten fetch timeouts, and one more second."""


class Growth(NamedTuple):
    """The epoch in the quorum-state of a voter, when it was cut off and before it was reconnected. `led` is whether it had itself
    as the leader at first: on a busy machine a leader may have gone on to its next epoch by then."""

    voter: str
    first: int
    last: int
    led: bool

    def __str__(self) -> str:
        led = ", as its leader" if self.led else ""
        return f"{self.voter} had stored epoch {self.first}{led} when it was cut off, and {self.last} in the end"


@quorum_scenario(
    "KIP595-SC-03",
    "KIP595-ELEC-06",
    "KIP595-ELEC-07",
    "KIP595-ELEC-06-L",
    "KIP595-ELEC-07-L",
    pick=integers(0, 1),
    verdict=sampled_from(["drop", "reject"]),
)
def dark_follower_returns(
    disturbed: DisturbedQuorum, expected: str, pick: int, verdict: Literal["drop", "reject"]
) -> Claims:
    """A follower is cut off for ten fetch timeouts: from 4.0 its epoch stays, and its return changes nothing."""
    kind = Drop if verdict == "drop" else Reject
    with disturbed.standing(kind(role="voter", peer="controllers", pick=pick)) as injected:
        [dark] = injected.nodes
        growth = grows_while_dark(disturbed, dark)
        others = disturbed.others(dark)
        led = disturbed.bench.eventually(lambda: disturbed.leader_if_agreed(others), "two that agree", due="quorum")
    yield from stays(expected, growth, "follower")
    yield from settles(disturbed)
    yield from nothing_changes(disturbed, expected, led)


@quorum_scenario("KIP595-SC-02", "KIP595-ELEC-06", "KIP595-ELEC-06-L", verdict=sampled_from(["drop", "reject"]))
def dark_leader_returns(disturbed: DisturbedQuorum, expected: str, verdict: Literal["drop", "reject"]) -> Claims:
    """A leader is cut off for ten fetch timeouts: from 4.0 its epoch rises by one."""
    with disturbed.standing(IsolatedControllerLeader(verdict=verdict)) as injected:
        growth = grows_while_dark(disturbed, injected.nodes[0])
    yield from stays(expected, growth, "leader")
    yield from settles(disturbed)


def grows_while_dark(disturbed: DisturbedQuorum, dark: str) -> Growth:
    """Write for as long as the voter is cut off, and read its epoch at both ends."""
    first = disturbed.quorum.quorum_state(dark)
    disturbed.write_for(DARK_FOR)
    last = disturbed.quorum.quorum_state(dark)
    return Growth(dark, first.leader_epoch, last.leader_epoch, first.leader_id == disturbed.bench.id_of(dark))


def stays(expected: str, growth: Growth, case: str) -> Claims:
    """Check ELEC-06: from 4.0 the epoch rose by one if the voter led it, else by none; earlier it did not fall."""
    rose, allowed, shown = growth.last - growth.first, int(growth.led), str(growth)
    held = rose == allowed if expected == "NO_GROWTH" else rose >= 0
    yield held_if(held, row="KIP595-ELEC-06", case=case, detail=shown)
    yield kept_if("KIP595-ELEC-06-L", rose <= allowed, case=case, detail=shown)


def nothing_changes(disturbed: DisturbedQuorum, expected: str, led: LeaderAndEpoch) -> Claims:
    """Check ELEC-07: what was acknowledged is there, and from 4.0 the same leader leads in the same epoch."""
    kept = disturbed.writer.kept_topics()
    lost = [one for one in kept if any(one not in topics for topics in disturbed.shown.values())]
    now = disturbed.quorum.agreed_leader()
    detail = f"before the return {say(led)} led, then {say(now)}; acknowledged and lost: {say(lost)}"
    if now != led and is_starved(disturbed.bench.wait.recorded_late(CALM), FETCH_TIMEOUT):
        yield excuse(STARVED, row="KIP595-ELEC-07", case="follower")
        return
    same = now == led
    held = held_at_rest(disturbed, not lost) if same or expected != "NO_GROWTH" else False
    yield held_if(held, row="KIP595-ELEC-07", case="follower", detail=detail)
    yield kept_if("KIP595-ELEC-07-L", same, case="follower", detail=detail)
