"""A minority of the controllers, a majority and all of them are down or frozen under a writer (KIP595-SC-10, KIP595-SC-13)."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Literal, NamedTuple

from hypothesis.strategies import integers, permutations

from conformance.core.checks import Claims, excuse, held_if
from conformance.judging.excuses import STARVED
from conformance.rigs.quorum.disturbed import (
    FETCH_TIMEOUT,
    REQUEST_TIMEOUT,
    SETTLES_WITHIN,
    DisturbedQuorum,
    all_run,
    controllers_catch_up,
    described_by_leader,
    quorum_scenario,
    settles,
)
from conformance.rigs.quorum.successors import successor_leads
from conformance.rigs.quorum.writer import WAITS, Write
from history.due import is_starved
from protocol.words import say

How = Literal["paused", "down"]

MISSED_FOR = 6.0
"""Seconds of writing with one follower down or frozen: three fetch timeouts."""

ALONE_FOR = REQUEST_TIMEOUT + FETCH_TIMEOUT + 4.0
"""Seconds of writing to a leader whose followers are frozen: the slack of KIP595-INV-11, and four more."""

SLACK = 1.0
"""Seconds by which a write may last longer than the slowest of the undisturbed ones on a busy machine."""


class WriteProgress(NamedTuple):
    """The writes of a while, and the leader's high watermarks before and after them."""

    writes: list[Write]
    before: int
    after: int


@quorum_scenario("KIP595-SC-10", "KIP595-LIVE-08", pick=integers(0, 1))
def followers_are_lost(disturbed: DisturbedQuorum, pick: int) -> Claims:
    """One follower is frozen, then stopped: the others go on. Then both are frozen, and the leader is alone."""
    led = disturbed.quorum.agreed_leader()
    leader = disturbed.bench.name_of(led.leader_id)
    follower = disturbed.others(leader)[pick]
    disturbed.writer.waits = FETCH_TIMEOUT + 2 * SLACK
    calm = [one.seconds for one in disturbed.write_for(MISSED_FOR / 2)]
    ways: tuple[How, ...] = ("paused", "down")
    for how in ways:
        with disturbed.away(follower, "voter", frozen=how == "paused"):
            found = progress(disturbed)
        yield from keeps_committing(disturbed, found, max(calm), how)
        yield all_run(disturbed)
        # Before pre-votes a follower that returns from a freeze may depose the leader: the next phase begins after that.
        yield from controllers_catch_up(disturbed)
    disturbed.writer.waits = WAITS
    with ExitStack() as frozen:
        for name in disturbed.others(leader):
            frozen.enter_context(disturbed.away(name, "voter", frozen=True))
        writes_to_the_leader(disturbed, leader)
    yield from settles(disturbed)


def progress(disturbed: DisturbedQuorum) -> WriteProgress:
    """Write for a while, and look at the high watermark before and after it; -1 if no controller leads."""
    before = described_by_leader(disturbed)
    writes = disturbed.write_for(MISSED_FOR)
    after = described_by_leader(disturbed)
    return WriteProgress(writes, before.high_watermark if before else -1, after.high_watermark if after else -1)


def keeps_committing(disturbed: DisturbedQuorum, found: WriteProgress, usual: float, case: How) -> Claims:
    """Check LIVE-08: the high watermark rose, and one write at most lasted longer than usual, by a fetch timeout at most."""
    slow = [one for one in found.writes if one.outcome != "acknowledged" or one.seconds > usual + SLACK]
    late = [one for one in slow if one.outcome != "acknowledged" or one.seconds > usual + FETCH_TIMEOUT + SLACK]
    held = 0 <= found.before < found.after and len(slow) <= 1 and not late
    if not held and is_starved(disturbed.bench.wait.recorded_late(MISSED_FOR), FETCH_TIMEOUT):
        yield excuse(STARVED, row="KIP595-LIVE-08", case=case)
        return
    seconds = [round(one.seconds, 1) for one in slow]
    rose = f"the high watermark rose from {found.before} to {found.after}"
    detail = f"{rose}; the slow writes took {say(seconds)} s, the usual ones up to {usual:.1f} s"
    yield held_if(held, row="KIP595-LIVE-08", case=case, detail=detail)


def writes_to_the_leader(disturbed: DisturbedQuorum, leader: str) -> None:
    """Write to a leader that is alone, and ask it; judges look at what it acknowledges (KIP595-INV-11)."""
    for _ in disturbed.rounds(ALONE_FOR):
        disturbed.writer.create(leader)
        disturbed.bench.answers([leader], disturbed.describe)


@quorum_scenario("KIP595-SC-13", "KIP595-LIVE-10", order=permutations(range(3)))
def all_controllers_are_killed(disturbed: DisturbedQuorum, order: Sequence[int]) -> Claims:
    """All controllers are killed at once under a writer, and started in another order: one of them leads in time."""
    disturbed.write_for(MISSED_FOR / 2)
    disturbed.bench.processes.crash(*disturbed.controllers)
    for place in order:
        disturbed.bench.processes.start(disturbed.controllers[place])
    yield from successor_leads(disturbed.bench, "", row="KIP595-LIVE-10", case="killed", within=2 * SETTLES_WITHIN)
    yield from settles(disturbed)
