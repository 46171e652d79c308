"""A voter of 3.9, which knows no pre-vote, among newer ones whose leader dies (KIP595-SC-28)."""

from contextlib import ExitStack

from hypothesis.strategies import integers

from conformance.core.checks import Claims, premise
from conformance.core.topologies import UPGRADED_QUORUM
from conformance.rigs.quorum.disturbed import (
    SETTLES_WITHIN,
    DisturbedQuorum,
    all_run,
    disturbed_quorum,
    quorum_scenario,
    settles,
)
from conformance.rigs.quorum.successors import successor_leads
from fixtures.faults.kinds.upgrade import Upgrade
from fixtures.images import select_versions
from protocol.log import LeaderAndEpoch

WITHOUT_PRE_VOTES = select_versions(["3.9"])[-1]
"""The last release without pre-votes."""

BEHIND_FOR = 2.0
"""Seconds of writing which the older voter misses."""


@quorum_scenario(
    "KIP595-SC-28", "KIP595-ELEC-09", rig=disturbed_quorum(UPGRADED_QUORUM, "upgraded_quorum"), pick=integers(0, 1)
)
def newer_voter_needs_the_older_ones_vote(disturbed: DisturbedQuorum, pick: int) -> Claims:
    """The leader dies while one voter is of 3.9 and behind: the third one leads, whose pre-vote the older one does not
    understand. Once the older one is upgraded, all agree again."""
    yield from elects_beside_an_older_voter(disturbed, pick)
    yield from settles(disturbed)


def elects_beside_an_older_voter(disturbed: DisturbedQuorum, pick: int) -> Claims:
    bench = disturbed.bench
    with disturbed.standing(Upgrade(role="voter", to=WITHOUT_PRE_VOTES, pick=pick)) as injected:
        [older] = injected.nodes
        led = one_that_leads(disturbed)
        leader = bench.name_of(led.leader_id)
        yield premise(leader != older, "a leader with pre-votes")
        with ExitStack() as frozen:
            frozen.enter_context(disturbed.away(older, "voter", frozen=True))
            written = disturbed.write_for(BEHIND_FOR)
            yield premise(any(one.outcome == "acknowledged" for one in written), "a write that the older voter misses")
            with disturbed.away(leader, "active controller", frozen=False):
                frozen.close()
                yield from successor_leads(
                    bench, leader, row="KIP595-ELEC-09", case="older-peer", within=SETTLES_WITHIN
                )
        yield all_run(disturbed)


def one_that_leads(disturbed: DisturbedQuorum) -> LeaderAndEpoch:
    """Return the leader on which all controllers agree, of which one was restarted."""
    return disturbed.bench.eventually(
        lambda: disturbed.leader_if_agreed(disturbed.controllers), "all controllers naming one leader", due="quorum"
    )
