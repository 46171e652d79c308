"""A leader of the metadata quorum that is shut down is followed at once, one that dies after the fetch timeout (KIP-595)."""

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.core.topologies import DEFAULT_FETCH_TIMEOUT, LONG_FETCH_TIMEOUT
from conformance.core.waiting import Settled
from conformance.rigs.quorum.lab import LAB, SLOW, QuorumLab
from conformance.rigs.quorum.successors import ELECTS_WITHIN

HANDED_OVER_WITHIN = 5.0
"""The rows' bound in seconds, both for the election and for the first write."""
EARLY = 1.0
"""Seconds by which a follower may give its leader up before a fetch timeout has passed since the kill: its last fetch was
answered up to half a second before, and the kit looks at its own clock."""
ELECTION = 5.0
"""Seconds that the candidates' rounds may take after the fetch timeout: two election timeouts of up to 2 s each, and a second."""


@probe("KIP595-END-05", "KIP595-LIVE-07", rig=SLOW, examples=2, smoke=False)
def leader_hands_over(lab: QuorumLab) -> Claims:
    """After SIGTERM of the leader another is elected, and acknowledges a write, long before a fetch timeout has passed."""
    whole, led = lab.await_caught_up()
    yield premise(whole, "voters that have the leader's whole log")
    leader = lab.bench.name_of(led.leader_id)
    began = lab.bench.now().seconds
    with lab.shutting_down(leader):
        elected, successor = lab.await_successor(leader, HANDED_OVER_WITHIN)
        written = elected if successor is None else lab.await_write(leader, _rest(lab, began))
        took = lab.bench.now().seconds - began
    shown = f"{leader} got SIGTERM; {_elected(elected)} within {HANDED_OVER_WITHIN:g} s"
    yield held_if(elected, *([successor] if successor else []), row="KIP595-LIVE-07", case="sigterm", detail=shown)
    yield held_if(written, row="KIP595-END-05", case="sigterm", detail=f"{shown}; the write took {took:.1f} s")


def _rest(lab: QuorumLab, began: float) -> float:
    """Return the seconds that are left for a write, at least one."""
    return max(1.0, HANDED_OVER_WITHIN - (lab.bench.now().seconds - began))


def _elected(elected: Settled) -> str:
    return "a successor" if elected.outcome else "no successor"


@probe("KIP595-CONF-03", rig=LAB, cases=["default"], examples=2, smoke=False)
def leader_is_replaced_after_the_fetch_timeout(lab: QuorumLab) -> Claims:
    """A killed leader is replaced once the default fetch timeout has passed."""
    yield from _replaced_in(lab, DEFAULT_FETCH_TIMEOUT, "default")


@probe("KIP595-CONF-03", rig=SLOW, cases=["longer"], examples=2, smoke=False)
def leader_is_replaced_after_a_longer_fetch_timeout(lab: QuorumLab) -> Claims:
    """With a fetch timeout of 10 s a killed leader is replaced 8 s later than with the default."""
    yield from _replaced_in(lab, LONG_FETCH_TIMEOUT, "longer")


def _replaced_in(lab: QuorumLab, timeout: float, case: str) -> Claims:
    """Kill the leader, and check that its successor leads neither before nor long after the fetch timeout."""
    whole, led = lab.await_caught_up()
    yield premise(whole, "voters that have the leader's whole log")
    leader = lab.bench.name_of(led.leader_id)
    began = lab.bench.now().seconds
    with lab.bench.processes.down(leader, role="active controller"):
        elected, successor = lab.await_successor(leader, ELECTS_WITHIN + timeout)
        took = lab.bench.now().seconds - began
    yield premise(elected, f"a successor of {leader}", promised=("KIP595-LIVE-01", "leader"))
    in_time = lab.bench.wait.end_of_wait(timeout - EARLY <= took <= timeout + ELECTION, timeout + ELECTION)
    detail = f"{leader} was replaced {took:.1f} s after its kill, with a fetch timeout of {timeout:g} s"
    yield held_if(in_time, successor, case=case, detail=detail)
