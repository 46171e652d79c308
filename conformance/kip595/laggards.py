"""A controller that is down until the leader's log begins beyond its own end, and comes back (KIP595-SC-29)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise
from conformance.core.topologies import SHORT_LOG
from conformance.judging.facts.quorum import EPOCHS
from conformance.rigs.quorum.disturbed import (
    SETTLES_WITHIN,
    DisturbedQuorum,
    all_run,
    await_caught_up,
    disturbed_quorum,
    quorum_scenario,
    settles,
)
from conformance.rigs.quorum.fetching import own_end
from protocol.quorum import METADATA_TOPIC

REMOVES_WITHIN = 150.0
"""Seconds within which a controller surely has looked for what to remove twice, once with a snapshot beyond the laggard's end."""

WRITES_FOR = 2.0
"""Seconds of writing between two looks at the leader's log start."""


@quorum_scenario("KIP595-SC-29", rig=disturbed_quorum(SHORT_LOG, "short_log"), pick=integers(0, 1))
def laggard_loads_a_snapshot(disturbed: DisturbedQuorum, pick: int) -> Claims:
    """A follower that needs records which no controller has any more loads a snapshot, and reaches the leader's log end."""
    yield from loads_a_snapshot(disturbed, pick)
    yield from settles(disturbed)


def loads_a_snapshot(disturbed: DisturbedQuorum, pick: int) -> Claims:
    bench = disturbed.bench
    leader = bench.name_of(disturbed.quorum.agreed_leader().leader_id)
    laggard = disturbed.others(leader)[pick]
    end = own_end(bench.id_of(laggard), disturbed.describe(leader))
    with disturbed.away(laggard, "voter", frozen=False):
        removed = bench.wait.becomes_true(
            lambda: begins_beyond(disturbed, leader, end), f"{leader}'s log beginning beyond {end}", REMOVES_WITHIN
        )
        yield premise(removed, "a leader without the records that the laggard needs")
    yield all_run(disturbed)
    caught_up, detail = await_caught_up(disturbed, 2 * SETTLES_WITHIN)
    # One that never catches up need not have loaded it.
    loaded = caught_up.outcome is not True or log_start_on_disk(disturbed, laggard) > end
    yield premise(loaded, "a laggard that loaded a snapshot")
    yield held_if(caught_up, row="KIP595-LIVE-05", case="snapshot", detail=detail)


def begins_beyond(disturbed: DisturbedQuorum, leader: str, end: int) -> bool:
    """Write for a while; return True if the leader's log begins beyond that offset then, as its leader epoch cache does."""
    disturbed.write_for(WRITES_FOR)
    _, _, first, *_ = disturbed.bench.read_file(leader, EPOCHS).text.splitlines() + [""] * 3
    return bool(first) and int(first.split()[1]) > end


def log_start_on_disk(disturbed: DisturbedQuorum, name: str) -> int:
    partition = f"{METADATA_TOPIC}-0"
    [held] = disturbed.bench.replicas({partition: [name]}).replicas
    return held.log_start
