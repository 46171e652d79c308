"""Groups as their coordinators see them: descriptions, configurations, time, and the log that is compacted."""

from collections.abc import Callable
from contextlib import suppress

from conformance.core.roles import Absent
from conformance.machines.groups.ground import OFFSETS_TOPIC, Ground
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, WireError
from protocol.codes import Error
from protocol.configs import ResourceType
from strategies import groups as do

SESSION_MS = 2_000
GROUP_SETTINGS = {
    "session": {"consumer.session.timeout.ms": str(SESSION_MS), "consumer.heartbeat.interval.ms": "1000"},
    "interval": {"consumer.assignment.interval.ms": "3000"},
}
OUTLASTED_WITHIN = 10.0
"""Seconds for which a step waits until a member is removed: its timeout, and what a busy coordinator takes."""
COMPACTING = {
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1",
    "segment.ms": "1",
}
"""Settings for immediate compaction, except of the active segment, which rolls at nearly each record."""


class Coordinators:
    """The coordinators of all groups of the example."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._altered: set[tuple[do.GroupName, str]] = set()
        self._compacting = False

    def has_short_sessions(self, on: do.GroupName) -> bool:
        return (on, "session") in self._altered

    def alter_group(self, step: do.AlterGroup) -> None:
        """Alter a group's own configuration, or return it to the defaults."""
        settings: dict[str, str | None] = dict(GROUP_SETTINGS[step.setting])
        changed = dict.fromkeys(settings) if step.reset else settings
        answer = self._any_broker().incremental_alter_configs(ResourceType.GROUP, self._ground.names[step.on], changed)
        if answer.error is Error.NONE:
            change = self._altered.discard if step.reset else self._altered.add
            change((step.on, step.setting))

    def compact_log(self, step: do.CompactLog) -> None:
        """Have the offsets topic compacted from now on, or no more."""
        settings: dict[str, str | None] = dict(COMPACTING)
        changed = dict.fromkeys(settings) if step.stop else settings
        self._any_broker().incremental_alter_configs(ResourceType.TOPIC, OFFSETS_TOPIC, changed)
        self._compacting = not step.stop

    def reset(self) -> None:
        """Return configurations to the defaults."""
        if self._compacting:
            self.compact_log(do.CompactLog(stop=True))
        for on, setting in sorted(self._altered):
            self.alter_group(do.AlterGroup(on=on, setting=setting, reset=True))  # type: ignore[arg-type]

    def _any_broker(self) -> NodeClient:
        running = self._ground.roles.running_brokers()
        if not running:
            raise Absent("no broker runs")
        return self._ground.bench.node(running[0])

    def outlast(self, on: do.GroupName, member_id: str, meanwhile: Callable[[], object]) -> None:
        """Wait until the group's description lacks a member, acting between two looks."""

        def is_gone() -> bool:
            meanwhile()
            described = self._ground.coordinator(on).consumer_group_describe(self._ground.names[on])
            return described.error is Error.NONE and member_id not in {one.member_id for one in described.members}

        with suppress(Overdue):
            self._ground.bench.eventually(is_gone, f"{member_id} removed", within=OUTLASTED_WITHIN, every=0.3, due=None)

    def describe(self) -> None:
        """Describe each group at its coordinator."""
        for on in do.GROUPS:
            with suppress(Absent, WireError):
                self._ground.coordinator(on).consumer_group_describe(self._ground.names[on])
