"""Three real controllers that are disturbed while metadata is written, and what they owe once they are healed (KIP-595)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

from conformance.core.bench import Bench
from conformance.core.checks import (
    Body,
    Check,
    Claim,
    Claims,
    PremiseClaim,
    Rig,
    excuse,
    held_if,
    premise,
    record_only,
    scenario,
)
from conformance.core.topologies import CONTROLLERS, DEFAULT_FETCH_TIMEOUT
from conformance.core.waiting import Settled
from conformance.judging.excuses import STARVED
from conformance.judging.timeline import AT_REST
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.quorum.quorum import Quorum, QuorumData, cluster_id_of
from conformance.rigs.quorum.writer import MetadataWriter, TopicsByBroker, Write
from fixtures.cluster import Topology
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Injected, Unhealthy
from fixtures.views.quorum import leader_known_to
from history.due import START_TIMEOUT, is_starved
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import QuorumAnswer
from protocol.words import say

FETCH_TIMEOUT = DEFAULT_FETCH_TIMEOUT
"""The seconds of controller.quorum.fetch.timeout.ms, which CONTROLLERS leaves at its default."""

REQUEST_TIMEOUT = 2.0
"""The seconds of controller.quorum.request.timeout.ms, which CONTROLLERS leaves at its default."""

SETTLES_WITHIN = 30.0
"""The bound B of KIP595-LIVE-01 to LIVE-10 in seconds, with the default timeouts."""

ROUND = 0.5
"""The fewest seconds of a round of writes: more of them show nothing new."""

CALM = 5 * FETCH_TIMEOUT
"""The seconds for which a settled quorum stays in its epoch (KIP595-LIVE-03)."""


class DisturbedQuorum:
    """The controllers by role, a writer, and faults. Faults are aimed with a partition that these controllers manage."""

    def __init__(self, bench: Bench, data: PartitionData) -> None:
        self.bench = bench
        self.partition = Partition(bench, data)
        self.quorum = Quorum(bench, QuorumData(cluster_id_of(bench)))
        self.writer = MetadataWriter(bench, data.topic.name)
        self.faults = bench.faults(data.topic, data.partition)
        self.shown: TopicsByBroker = {}
        """The topics that brokers show once the quorum is at rest."""
        self.same = Settled(0, False)
        """Whether all brokers came to show the same topics."""
        self.led_before: LeaderAndEpoch | None = None
        """The leader on which all controllers agreed before the first fault."""

    @property
    def controllers(self) -> list[str]:
        return self.bench.controllers

    @property
    def brokers(self) -> list[str]:
        return self.bench.brokers

    def others(self, *names: str) -> list[str]:
        """Return the controllers besides these."""
        return [name for name in self.controllers if name not in names]

    def seconds(self) -> float:
        return self.bench.now().seconds

    def describe(self, name: str) -> QuorumAnswer:
        """Return the controller's own answer to DescribeQuorum."""
        return self.quorum.client(name).describe_quorum()

    def known_by(self, names: Sequence[str]) -> dict[str, LeaderAndEpoch]:
        """Return the leader and epoch that each controller names; those that do not answer are left out."""
        return self.bench.answers(names, lambda name: leader_known_to(
            self.quorum.client(name), self.quorum.peer_of(name), self.quorum.cluster_id
        ))  # fmt: skip

    def leader_if_agreed(self, names: Sequence[str]) -> LeaderAndEpoch | None:
        """Return the leader that all these controllers name, if it is one of them; None if they do not agree."""
        known = self.known_by(names)
        found = {*known.values()}
        ids = {self.bench.id_of(name) for name in names}
        agreed = len(found) == 1 and len(known) == len(names)
        return next((one for one in found if one.leader_id in ids), None) if agreed else None

    @contextmanager
    def standing(self, fault: Fault) -> Iterator[Injected]:
        """Inject the fault without waiting for what follows from it, and heal it at the end of the block.

        Whether the quorum settles after that is for a check to observe.
        """
        self.led_before = self.led_before or self.leader_if_agreed(self.controllers)
        injected = self.faults.inject(fault, follow=False)
        try:
            yield injected
        finally:
            self.heal(fault)

    @contextmanager
    def away(self, name: str, role: str, *, frozen: bool) -> Iterator[None]:
        """Freeze the controller within the block, or kill it."""
        processes = self.bench.processes
        if not frozen:
            with processes.down(name, role=role):
                yield
            return
        processes.pause(name, role=role)
        try:
            yield
        finally:
            processes.resume(name)

    def heal(self, fault: Fault) -> None:
        try:
            self.faults.heal(fault)
        except Unhealthy:
            """The fault is gone; whether the quorum settles is what `settles` observes."""

    def rounds(self, seconds: float) -> Iterator[int]:
        """Yield the numbers of rounds of `ROUND` seconds each, or longer ones if a round takes longer, for some seconds."""
        over = self.seconds() + seconds
        for number in count():
            begun = self.seconds()
            if begun >= over:
                break
            yield number
            self.bench.wait.becomes_true(partial(self._is_past, begun + ROUND), "the end of a round", 2 * ROUND)

    def _is_past(self, moment: float) -> bool:
        return self.seconds() >= moment

    def write_for(self, seconds: float) -> list[Write]:
        """Write to the brokers in turn for some seconds, once a round; return the creations."""
        return [self.writer.write(self.brokers[n % len(self.brokers)]) for n in self.rounds(seconds)]


def _prepare(bench: Bench) -> PartitionData:
    return new_partition(bench).data


def disturbed_quorum(topology: Topology, name: str) -> Rig[PartitionData, DisturbedQuorum]:
    return Rig(topology, _prepare, DisturbedQuorum, name=name)


DISTURBED = disturbed_quorum(CONTROLLERS, "disturbed_quorum")


def quorum_scenario(
    schedule: str,
    *rows: str,
    rig: Rig[PartitionData, DisturbedQuorum] = DISTURBED,
    **strategies: Any,
) -> Callable[[Body], Check]:
    """Declare a schedule of a disturbed quorum, like `conformance.core.checks.scenario`. It ends with `settles`."""
    return scenario(schedule, *rows, *SETTLED, rig=rig, aims=("quorum",), rest=AT_REST, examples=2, **strategies)


SETTLED = ("KIP595-LIVE-02", "KIP595-LIVE-03", "KIP595-LIVE-05")
"""The rows that `settles` observes."""


def settles(disturbed: DisturbedQuorum) -> Claims:
    """Check what a healed quorum owes: all controllers agree, a write succeeds, all logs catch up, and the epoch stays.

    Afterwards the quorum is at rest, and what judges need has been read.
    """
    yield all_run(disturbed)
    wait, led = disturbed.bench.wait, list[LeaderAndEpoch]()

    def agree() -> bool:
        found = disturbed.leader_if_agreed(disturbed.controllers)
        led.extend([found] if found else [])
        return bool(led)

    agreed = wait.becomes_true(agree, "all controllers naming one leader", SETTLES_WITHIN)
    known = disturbed.known_by(disturbed.controllers)
    yield held_if(agreed, row="KIP595-LIVE-03", case="agreement", detail=f"they named {say(known)}")
    yield premise(agreed, "all controllers naming one leader")
    if disturbed.led_before is not None:
        yield epochs_spent(disturbed.led_before, led[-1])
    settled = disturbed.seconds()
    yield from accepts_a_write(disturbed, "KIP595-LIVE-02", "write")
    yield from controllers_catch_up(disturbed)
    at_rest(disturbed.partition)
    brokers_agree(disturbed)
    yield from stays_calm(disturbed, led[-1], settled)


def epochs_spent(before: LeaderAndEpoch, after: LeaderAndEpoch) -> Claim:
    """Record the epochs that the faults of an example cost until the healed quorum agreed."""
    epochs = after.leader_epoch - before.leader_epoch
    variant = "1 epoch" if epochs == 1 else f"{epochs} epochs"
    detail = f"{say(before)} led before, {say(after)} once all was healed"
    return record_only(row="KIP595-LIVE-03", case="agreement", detail=detail, variant=variant)


def all_run(disturbed: DisturbedQuorum) -> PremiseClaim:
    """Return the premise that all controllers run again: one that ended by itself is no matter of the quorum."""
    controllers = disturbed.controllers
    run = disturbed.bench.wait.becomes_true(
        lambda: len(disturbed.known_by(controllers)) == len(controllers), "all controllers answering", START_TIMEOUT
    )
    return premise(run, "all controllers running", promised=("GEN-10", "start"))


def accepts_a_write(disturbed: DisturbedQuorum, row: str, case: str) -> Claims:
    """Check that a write through a broker is acknowledged in time."""
    writes = list[Write]()

    def is_acknowledged() -> bool:
        writes.append(disturbed.writer.create(disturbed.brokers[len(writes) % len(disturbed.brokers)]))
        return writes[-1].outcome == "acknowledged"

    in_time = disturbed.bench.wait.becomes_true(is_acknowledged, "an acknowledged write", SETTLES_WITHIN)
    shown = writes[-1].answer
    detail = f"the last of {len(writes)} writes was {writes[-1].outcome}"
    yield held_if(in_time, *([shown] if shown else []), row=row, case=case, detail=detail)


def controllers_catch_up(disturbed: DisturbedQuorum) -> Claims:
    """Check LIVE-05: the log of every controller reaches the end that the leader's had."""
    in_time, detail = await_caught_up(disturbed, SETTLES_WITHIN)
    yield held_if(in_time, row="KIP595-LIVE-05", case="log", detail=detail)


def await_caught_up(disturbed: DisturbedQuorum, within: float) -> tuple[Settled, str]:
    """Wait until all controllers have what the leader's log had; return the end of the wait, and where their logs ended."""
    reached, ends = -1, dict[int, int]()

    def caught_up() -> bool:
        nonlocal reached, ends
        described = described_by_leader(disturbed)
        if described is None:
            return False
        ends = {voter.replica_id: voter.log_end_offset for voter in described.current_voters}
        reached = ends[described.leader_id] if reached < 0 else reached
        return min(ends.values()) >= reached

    in_time = disturbed.bench.wait.becomes_true(caught_up, "all controllers at the leader's log end", within)
    return in_time, f"the leader's log ended at {reached}, the controllers' logs then at {say(ends)}"


def described_by_leader(disturbed: DisturbedQuorum) -> QuorumAnswer | None:
    """Return the description of the newest epoch by a controller that leads with a high watermark; None if there is none."""
    answers = disturbed.bench.answers(disturbed.controllers, disturbed.describe).values()
    leads = [one for one in answers if one.error is Error.NONE and one.high_watermark >= 0]
    return max(leads, key=lambda one: one.leader_epoch, default=None)


def brokers_agree(disturbed: DisturbedQuorum) -> None:
    """Wait until all brokers show the same topics, among them all acknowledged ones, for as long as a broker may need to apply
    what is committed (KIP595-LIVE-04); keep what they show at last.

    That they never do is for judges and checks to observe.
    """

    def same() -> bool:
        disturbed.shown = disturbed.writer.read_back(disturbed.brokers)
        first, *others = disturbed.shown.values()
        agree = len(others) == len(disturbed.brokers) - 1 and all(one == first for one in others)
        return agree and first.keys() >= {*disturbed.writer.kept_topics()}

    disturbed.same = disturbed.bench.wait.becomes_true(same, "the same topics at all brokers", SETTLES_WITHIN)


def held_at_rest(disturbed: DisturbedQuorum, held: bool) -> bool | Settled:
    """Return the result of a condition on what brokers showed at rest. A failure is undecided if they showed different topics and
    the kit woke too late to see them agree."""
    return held if disturbed.same.outcome else held or disturbed.same


def stays_calm(disturbed: DisturbedQuorum, led: LeaderAndEpoch, since: float) -> Claims:
    """Check LIVE-03: the epoch stays for five fetch timeouts, counted from the moment at which all agreed."""
    bench, other = disturbed.bench, list[LeaderAndEpoch]()

    def over() -> bool:
        other.extend(
            one for one in disturbed.known_by(disturbed.controllers).values() if one.leader_epoch != led.leader_epoch
        )
        return bool(other) or disturbed.seconds() - since > CALM

    bench.wait.becomes_true(over, "the end of five fetch timeouts", 2 * CALM)
    if other and is_starved(bench.wait.recorded_late(CALM), FETCH_TIMEOUT):
        yield excuse(STARVED, row="KIP595-LIVE-03", case="calm")
        return
    detail = f"all had named {say(led)}, then {say(other[:1])} was named"
    yield held_if(not other, row="KIP595-LIVE-03", case="calm", detail=detail)
