"""Groups at rest: all members heartbeat honestly until a group is stable, and at the end its log is read."""

from collections.abc import Mapping
from contextlib import suppress

from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent
from conformance.machines.groups.clients import Clients
from conformance.machines.groups.ground import OFFSETS_TOPIC, Ground
from conformance.machines.groups.slots import Slot
from fixtures.waiting import Overdue
from protocol.codes import Error
from protocol.groups import LEAVE, DescribedGroup, DescribedMember
from strategies import groups as do

SETTLED_WITHIN = 33.0
"""Seconds in which all groups must be stable (KIP1251-BASE-09), and some more, so that one that is not is seen later."""
PAUSE = 0.2
"""Seconds between two rounds."""
CLASSIC = 0
"""The type of a described member of the classic protocol."""


class Rest:
    """The members of all groups at rest."""

    def __init__(
        self, ground: Ground, members: Mapping[do.GroupName, Mapping[do.Slot, Slot]], clients: Clients
    ) -> None:
        self._ground = ground
        self._members = members
        self._clients = clients
        self._log_ends = {
            ground.log_partition(on): ground.coordinator(on)
            .list_offsets(OFFSETS_TOPIC, ground.log_partition(on))
            .offset
            for on in do.GROUPS
        }
        """The log ends at the beginning of the example, by partition of the offsets topic."""

    def settle(self, *groups: do.GroupName) -> None:
        """Let all members of groups wake, and former ones leave; then heartbeat until each group is stable, or the time is up."""
        for slot in [slot for on in groups for slot in self._members[on].values()]:
            slot.silent = False
            with suppress(*UNANSWERED, Absent):
                slot.expel_former()
        counts = self._ground.count_partitions()
        with suppress(Overdue):
            self._ground.bench.eventually(
                lambda: min(self._is_stable(on, counts) for on in groups),
                "all groups stable",
                within=SETTLED_WITHIN,
                every=PAUSE,
                due=None,
            )

    def _is_stable(self, on: do.GroupName, counts: Mapping[str, int]) -> bool:
        """Let each member heartbeat once; true if the group's description is stable then, and all partitions have owners."""
        self._clients.poll(on)
        for slot in self._members[on].values():
            if slot.is_taken:
                with suppress(*UNANSWERED, Absent):
                    slot.beat()
        with suppress(*UNANSWERED, Absent):
            described = self._ground.coordinator(on).consumer_group_describe(self._ground.names[on])
            known = {slot.known_id for slot in self._members[on].values()} | self._clients.member_ids(on)
            for one in described.members:
                if one.member_id not in known:
                    self._expel(on, one)
            # 3.7 writes states in lower case; a group without members may be gone, or be one of the classic protocol.
            is_stable = described.group_state.lower() in ("stable", "empty", "dead")
            return described.error is not Error.NONE or (is_stable and _lacks_nothing(described, counts))
        return False

    def _expel(self, on: do.GroupName, member: DescribedMember) -> None:
        """Let a member leave that no slot knows: its join was not answered, or a copy of a request brought it back."""
        group, coordinator = self._ground.names[on], self._ground.coordinator(on)
        if member.member_type == CLASSIC:
            coordinator.leave_group(group, member.member_id)
        else:
            coordinator.consumer_group_heartbeat(group, member.member_id, LEAVE)

    def read_log(self) -> None:
        """Read what the groups' coordinators have written since the example began."""
        by_partition = {self._ground.log_partition(on): on for on in do.GROUPS}
        for partition, on in by_partition.items():
            with suppress(*UNANSWERED, Absent):
                node = self._ground.coordinator(on).node
                self._ground.bench.group_records(node, partition, self._log_ends[partition])


def _lacks_nothing(group: DescribedGroup, counts: Mapping[str, int]) -> bool:
    """True if as many partitions are assigned as the topics have which members read."""
    wanted = sum(count for topic, count in counts.items() if any(member.reads(topic) for member in group.members))
    assigned = [topic.partitions for member in group.members for topic in member.assignment.topic_partitions]
    return sum(map(len, assigned)) >= wanted
