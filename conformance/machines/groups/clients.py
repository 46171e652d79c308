"""Clients of librdkafka as members of groups: at most two of a group at a time."""

from contextlib import suppress

from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent
from conformance.machines.groups.ground import Ground
from fixtures.librdkafka import GroupClient
from fixtures.waiting import Overdue
from strategies import groups as do

SHARED_WITHIN = 12.0
"""Seconds after which a step no longer waits for clients to share their partitions: some of their heartbeats, one in 5 s."""
POLL_MS = 50


class Clients:
    """The clients of all groups of the example. They join and leave by steps, and poll in steps only."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._of: dict[do.GroupName, dict[do.ClientName, GroupClient]] = {on: {} for on in do.GROUPS}
        self._topics: dict[str, list[str]] = {}
        """The topics that each client reads, by its name."""

    def member_ids(self, on: do.GroupName) -> set[str]:
        return {client.member_id for client in self._of[on].values()}

    def start(self, step: do.StartClient) -> None:
        """Let a client join in place of the former one. Raises Absent without a broker that runs."""
        self._close(step.on, step.client)
        running = self._ground.roles.running_brokers()
        if not running:
            raise Absent("no broker runs")
        bench = self._ground.bench
        group = self._ground.names[step.on]
        instance_id = f"{group}-{step.client}" if step.static else ""
        client = bench.group_client(bench.fresh_name(step.client), group, step.protocol, running, instance_id)
        self._of[step.on][step.client] = client
        self._topics[client.name] = names = self._ground.topic_names(step.reads_from)
        client.subscribe([f"^({'|'.join(names)})$"] if step.reads_from.startswith("pattern") else names)
        self.share(step.on)

    def poll(self, on: do.GroupName) -> None:
        """Poll once with each client."""
        for client in self._of[on].values():
            with suppress(*UNANSWERED):
                client.poll(POLL_MS)

    def share(self, on: do.GroupName) -> None:
        """Poll until each client has partitions, and all together those of their topics."""
        counts = self._ground.count_partitions()
        clients = self._of[on].values()

        def is_shared() -> bool:
            self.poll(on)
            wanted = sum(
                counts.get(topic, 0) for topic in {topic for one in clients for topic in self._topics[one.name]}
            )
            return all(one.owned for one in clients) and sum(len(one.owned) for one in clients) == wanted

        with suppress(Overdue):
            self._ground.bench.eventually(
                is_shared, f"clients of {on} that share partitions", within=SHARED_WITHIN, every=0.1, due=None
            )

    def commit(self, step: do.CommitByClient) -> None:
        """Commit one of the client's partitions. Raises Absent without any."""
        client = self._of[step.on].get(step.client)
        if client is None or not client.owned:
            raise Absent(f"{step.client} has no partition")
        owned = sorted(client.owned)
        commit = client.commit_in_transaction if step.in_transaction else client.commit
        commit(*owned[step.pick % len(owned)], self._ground.next_offset())

    def close(self, step: do.CloseClient) -> None:
        """Let the client leave. Raises Absent without it."""
        if step.client not in self._of[step.on]:
            raise Absent(f"there is no {step.client}")
        self._close(step.on, step.client)

    def close_all(self, *groups: do.GroupName) -> None:
        """Let all clients of these groups leave."""
        for on in groups:
            for name in [*self._of[on]]:
                self._close(on, name)

    def _close(self, on: do.GroupName, name: do.ClientName) -> None:
        if (client := self._of[on].pop(name, None)) is not None:
            with suppress(*UNANSWERED):
                client.close()
