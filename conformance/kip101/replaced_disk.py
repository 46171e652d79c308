"""A broker comes back with an empty log directory: its partitions get a leader all the same (GEN-08, KIP-858)."""

from __future__ import annotations

from collections.abc import Generator

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claim, held_if
from conformance.core.waiting import WITHIN
from conformance.rigs.log.lone_replicas import LONE_REPLICAS, LoneReplicas
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from fixtures.faults.base.injector import Unhealed
from fixtures.faults.kinds.disk import WipeDisk


@log_scenario("GEN-SC-03", "GEN-08", rig=LONE_REPLICAS, examples=5, clean=booleans(), records=integers(1, 3))
def the_only_replica_gets_an_empty_disk(lone: LoneReplicas, clean: bool, records: int) -> Generator[Claim, None, None]:
    """The controller knows the replicas by the id of a directory that is gone, until the broker assigns them to the new one."""
    for one in lone.partitions:
        one.write(*[b"on one disk only"] * records)
    faults, replaced = lone.bench.faults(lone.partitions[0].topic), WipeDisk(role="leader", clean=clean)
    faults.inject(replaced)
    try:
        faults.heal(replaced)
    except Unhealed:
        """The broker runs. Whether its partitions have a leader is what the check observes."""
    lone.bench.wait.comes_true(lone.are_led, "a leader of each partition", WITHIN)
    for one in lone.partitions:
        state = one.newest()
        held = state is not None and state.leader >= 0
        detail, label = f"{one}, on an empty disk: {state}", "" if held else "stuck"
        yield held_if(held, row="GEN-08", case="disk-replaced", detail=detail, label=label)
    at_rest(*lone.partitions)
