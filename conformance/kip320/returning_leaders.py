"""Fetches from a former leader from the moment it listens: its uncommitted suffix must stay hidden (KIP320-SC-13)."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise
from conformance.judging.timeline import CONVERGENCE_TIMEOUT
from conformance.rigs.log.many_partitions import CROWD, ManyPartitions, RepeatedFetches, records_missing_from
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from fixtures.faults.kinds.zombies import CutOffFromControllers
from protocol.words import say

SILENT = 0.4
"""Seconds by which the follower freezes before the leader. Both send heartbeats every 0.2 s, so the follower is fenced
first, and its delayed fetch is answered: it appends those records when it resumes."""


def suffix_never_returned(crowd: ManyPartitions, hammer: RepeatedFetches, case: str) -> Claims:
    """Check that every record returned to the concurrent fetches is in the final logs."""
    logs = crowd.logs()
    gone = records_missing_from(hammer.served_records(), logs)
    met = len(hammer.caught_in_time)
    shown = {name: sorted(r.offset for r in records) for name, records in gone.items() if records}
    yield premise(met > 0, f"{met} of {len(gone)} partitions answered before they had caught up")
    detail = f"{met} partitions answered in time, {len(hammer.answers)} fetches; doomed offsets on {len(shown)}: {say(shown)}"
    yield held_if(not shown, *hammer.answers_with(gone)[:3], case=case, detail=detail[:2000])


@log_scenario(
    "KIP320-SC-13", "KIP101-TRUNC-04", rig=CROWD, cases=["restarted"], doomed=integers(3, 10), more=integers(1, 3)
)
def former_leader_restarts(crowd: ManyPartitions, doomed: int, more: int) -> Claims:
    """A former leader restarts with records that were never committed, under a leader from an unclean election."""
    bench, heir = crowd.bench, crowd.bench.id_of(crowd.second)
    crowd.write(crowd.first, b"on both")
    bench.processes.pause(crowd.second, role="follower")
    silent = bench.now().seconds
    bench.eventually(lambda: bench.now().seconds - silent > SILENT, "the follower frozen for some heartbeats")
    crowd.write(crowd.first, *[b"doomed"] * doomed, acks=1)
    ends = crowd.log_ends(crowd.first)
    bench.processes.kill(crowd.first, role="leader")
    isrs = crowd.await_no_leaders()
    bench.processes.resume(crowd.second)
    crowd.elect()
    yield premise(ends == {1 + doomed}, f"the uncommitted suffixes of the former leader end at {say(ends)}")
    yield premise(all(heir not in isr for isr in isrs), f"no replica of the ISR is up: {say(isrs)}")
    crowd.write(crowd.second, *[b"in their place"] * (doomed + more))

    hammer = RepeatedFetches(crowd, crowd.first, 1, 1 + doomed + more)
    # Without its leader the former leader cannot truncate before it listens. The new one may be fenced, and leads
    # again.
    bench.processes.pause(crowd.second, role="leader")
    bench.processes.start(crowd.first)
    hammer.until_answered(CONVERGENCE_TIMEOUT)
    bench.processes.resume(crowd.second)
    hammer.until_caught_up(CONVERGENCE_TIMEOUT)
    at_rest(*crowd.couples.values())
    yield from suffix_never_returned(crowd, hammer, "restarted")


@log_scenario(
    "KIP320-SC-13", "KIP101-TRUNC-04", rig=CROWD, cases=["healed"], doomed=integers(3, 10), more=integers(1, 3)
)
def stale_leader_is_healed(crowd: ManyPartitions, doomed: int, more: int) -> Claims:
    """A stale leader that learns of its successor must truncate the records that only it has."""
    faults = crowd.bench.faults(crowd.topics[0])
    crowd.write(crowd.first, b"on both")
    cut = CutOffFromControllers(role="leader")
    faults.inject(cut)
    epochs = crowd.await_takeover()
    crowd.write(crowd.first, *[b"doomed"] * doomed, acks=1)
    ends = crowd.log_ends(crowd.first)
    crowd.write(crowd.second, *[b"in their place"] * (doomed + more))
    yield premise(ends == {1 + doomed}, f"the uncommitted suffixes of the stale leader end at {say(ends)}")

    hammer = RepeatedFetches(crowd, crowd.first, 1, 1 + doomed + more, epochs)
    with ThreadPoolExecutor(1) as pool:
        healed = pool.submit(faults.heal, cut)
        hammer.until_caught_up(CONVERGENCE_TIMEOUT)
        healed.result()
    at_rest(*crowd.couples.values())
    yield from suffix_never_returned(crowd, hammer, "healed")
