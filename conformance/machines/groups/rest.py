"""The end of an example: all members heartbeat honestly until each group is stable, then its log is read."""

from collections.abc import Mapping
from contextlib import suppress

from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent
from conformance.machines.groups.ground import OFFSETS_TOPIC, Ground
from conformance.machines.groups.slots import Slot
from fixtures.waiting import Overdue
from protocol.codes import Error
from protocol.groups import DescribedGroup
from strategies import groups as do

SETTLED_WITHIN = 33.0
"""Seconds in which all groups must be stable (KIP1251-BASE-09), and some more, so that one that is not is seen later."""
PAUSE = 0.2
"""Seconds between two rounds."""


class Rest:
    """The members of all groups at rest."""

    def __init__(self, ground: Ground, members: Mapping[do.GroupName, Mapping[do.Slot, Slot]]) -> None:
        self._ground = ground
        self._members = members
        self._log_ends = {
            ground.log_partition(on): ground.coordinator(on)
            .list_offsets(OFFSETS_TOPIC, ground.log_partition(on))
            .offset
            for on in do.GROUPS
        }
        """The log ends at the beginning of the example, by partition of the offsets topic."""

    def settle(self) -> None:
        """Let all members wake, and former ones leave; then heartbeat until each group is stable, or the time is up."""
        for slots in self._members.values():
            for slot in slots.values():
                slot.silent = False
                with suppress(*UNANSWERED, Absent):
                    slot.expel_former()
        with suppress(Overdue):
            self._ground.bench.eventually(
                lambda: min(self._is_stable(on) for on in do.GROUPS),
                "all groups stable",
                within=SETTLED_WITHIN,
                every=PAUSE,
                due=None,
            )

    def _is_stable(self, on: do.GroupName) -> bool:
        """Let each member heartbeat once; true if the group's description is stable then."""
        for slot in self._members[on].values():
            if slot.is_taken:
                with suppress(*UNANSWERED, Absent):
                    slot.beat()
        with suppress(*UNANSWERED, Absent):
            described = self._ground.coordinator(on).consumer_group_describe(self._ground.names[on])
            # 3.7 writes states in lower case; a group without members may be gone, or be one of the classic protocol.
            state = described.group_state.lower()
            return described.error is not Error.NONE or state in ("empty", "dead") or self._is_shared(on, described)
        return False

    def _is_shared(self, on: do.GroupName, described: DescribedGroup) -> bool:
        """True if a group is stable, with as many partitions assigned as the topics have that members read by name."""
        if described.group_state.lower() != "stable":
            return False
        topics = sorted({name for member in described.members for name in member.subscribed_topic_names})
        found = self._ground.coordinator(on).metadata(topics).topics if topics else ()
        assigned = [each for member in described.members for each in member.assignment.topic_partitions]
        wanted = {(topic.topic_id, one.partition) for topic in found for one in topic.partitions}
        return wanted <= {(topic.topic_id, one) for topic in assigned for one in topic.partitions}

    def read_log(self) -> None:
        """Read what the groups' coordinators have written since the example began."""
        by_partition = {self._ground.log_partition(on): on for on in do.GROUPS}
        for partition, on in by_partition.items():
            with suppress(*UNANSWERED, Absent):
                node = self._ground.coordinator(on).node
                self._ground.bench.group_records(node, partition, self._log_ends[partition])
