"""kafka-python consumers: some alone, one per rack and one without, and the members of a group."""

from contextlib import suppress
from functools import partial

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from conformance.machines.log.partitions import Partitions
from fixtures.cluster.topology import rack_of
from fixtures.consumers import Consumer, ConsumerTrouble
from strategies import log as do

MAX_MEMBERS = 3


class Consumers:
    """An example's consumers, each of which starts at its first step."""

    def __init__(self, bench: Bench, roles: Roles, partitions: Partitions, group: str) -> None:
        self._bench = bench
        self._roles = roles
        self._partitions = partitions
        self._group = group
        self._alone: dict[int | None, Consumer] = {}
        self._members: list[Consumer] = []
        self._joined = 0

    def consume(self, step: do.Consume) -> None:
        if step.rack not in self._alone:
            name = "consumer" if step.rack is None else f"consumer-in-rack-{step.rack}"
            made = self._new(name, rack=None if step.rack is None else rack_of(step.rack))
            made.assign([(partition.name, partition.index) for partition in self._partitions.values()])
            self._alone[step.rack] = made
        self._alone[step.rack].poll()

    def join(self, step: do.Join) -> None:
        if len(self._members) == MAX_MEMBERS:
            raise Absent(f"the group has {MAX_MEMBERS} members")
        self._joined += 1
        member = self._new(f"member-{self._joined}", self._group)
        self._members.append(member)
        member.subscribe(self._partitions.topic_names)
        self._poll_all()

    def poll_group(self, step: do.PollGroup) -> None:
        self._poll_all()
        for member in self._members if step.commit else ():
            with suppress(ConsumerTrouble):
                member.commit()

    def leave(self, step: do.Leave) -> None:
        if not self._members:
            raise Absent("the group has no member")
        self._members.pop().close()
        self._poll_all()

    def fetch_offsets(self, step: do.OffsetFetch) -> None:
        # The new coordinator reads above its high watermark only if require_stable is set.
        self._roles.coordinator(self._group).offset_fetch(self._group, self._partitions.ids, require_stable=True)

    def _new(self, name: str, group: str | None = None, rack: str | None = None) -> Consumer:
        """Start a consumer that does not wait for brokers that are down. Raises Absent if no broker runs."""
        running = self._roles.running_brokers()
        if not running:
            raise Absent("no broker runs")
        return self._bench.consumer(name, group, rack, running)

    def _poll_all(self) -> None:
        """Poll with all members at the same time, since a rebalance ends only when each of them polls."""
        self._bench.run_in_parallel([partial(_poll, member) for member in self._members])


def _poll(member: Consumer) -> None:
    with suppress(ConsumerTrouble):
        member.poll()
