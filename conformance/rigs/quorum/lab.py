"""Three real controllers and a broker that checks take leaders from (QUORUM_LAB, SLOW_QUORUM)."""

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import QUORUM_LAB, SLOW_QUORUM
from conformance.core.waiting import Settled
from conformance.judging.facts.gauges import APPLIED, RAFT, number_of
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.quorum import Quorum, QuorumData, cluster_id_of
from conformance.rigs.quorum.successors import await_other_leader, other_leader
from fixtures.wire import ConnectionClosed, Unanswered
from history.readings import Metric
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import QuorumAnswer
from protocol.topics import NewTopic

CAUGHT_UP_WITHIN = 10.0
"""Seconds within which the logs of all voters are equally long, which is so between any two records."""

WITHIN = 5.0
"""Seconds within which a new leader acknowledges a write."""

WRITE_MS = 1000
"""The timeout of one try to create a topic, in milliseconds."""


class QuorumLab(Quorum):
    """The controllers, and the broker that observes them."""

    def __init__(self, bench: Bench, data: QuorumData) -> None:
        super().__init__(bench, data)
        [self.broker] = bench.brokers

    def agreed_leader(self) -> LeaderAndEpoch:
        """Return the leader and epoch on which all controllers agree, once all of them answer: the first request to a
        restarted one fails on the connection to its former process."""
        ids = {self.bench.id_of(name) for name in self.controllers}

        def leader_if_agreed() -> LeaderAndEpoch | None:
            answers = self.bench.answers(self.controllers, self.reported_leader)
            found = set(answers.values())
            agreed = len(answers) == len(ids) and len(found) == 1
            return next((one for one in found if one.leader_id in ids), None) if agreed else None

        return self.bench.eventually(leader_if_agreed, "all controllers naming one leader and epoch", due="quorum")

    # --- its metrics

    def gauges(self, name: str) -> Metric:
        """Return the node's metrics of the quorum."""
        return self.bench.metric(name, RAFT)

    def read_metrics(self, *gone: str) -> dict[str, Metric]:
        """Read the metrics of the quorum of all nodes but those that are gone, and what the broker has applied."""
        if self.broker not in gone:
            self.applied_offset()
        return {name: self.gauges(name) for name in self.bench.members if name not in gone}

    def applied_offset(self) -> int:
        """Return the offset of the last record of the metadata log that the broker has applied; -1 for none."""
        return number_of(self.bench.metric(self.broker, APPLIED).values, "last-applied-record-offset")

    # --- before the leader goes

    def await_caught_up(self) -> tuple[Settled, QuorumAnswer]:
        """Wait until all voters have the leader's whole log. Return the end of the wait, and the leader's last answer."""
        found = [self.describe_by_leader()]

        def all_have_it() -> bool:
            found.append(self.describe_by_leader())
            return all(
                own_end(v.replica_id, found[-1]) == own_end(found[-1].leader_id, found[-1])
                for v in found[-1].current_voters
            )

        settled = self.bench.wait.becomes_true(all_have_it, "voters that have the leader's whole log", CAUGHT_UP_WITHIN)
        return settled, found[-1]

    # --- once it has gone

    @contextmanager
    def shutting_down(self, leader: str) -> Iterator[None]:
        """Send SIGTERM to a leader before the block; start it again after the block, once its process has ended."""
        self.bench.processes.terminate(leader)
        try:
            yield
        finally:
            self.bench.processes.stop(leader, role="active controller")
            self.bench.processes.start(leader)

    def await_successor(self, gone: str, within: float) -> tuple[Settled, QuorumAnswer | None]:
        """Wait until another controller leads with a known high watermark; return the end of the wait, and its description."""
        return await_other_leader(self.bench, gone, within)

    def await_successor_in_metrics(self, gone: list[str], within: float) -> tuple[Settled, list[dict[str, Metric]]]:
        """Wait until another controller leads. Return the end of the wait, and the metrics of the other nodes meanwhile."""
        looks = list[dict[str, Metric]]()

        def leads() -> bool:
            looks.append(self.read_metrics(*gone))
            return other_leader(self.bench, gone[0]) is not None

        return self.bench.wait.becomes_true(leads, f"a successor of {gone[0]}", within), looks

    def await_write(self, gone: str, within: float) -> Settled:
        """Wait until one of the other controllers acknowledges the creation of a topic."""
        others = [name for name in self.controllers if name != gone]

        def is_acknowledged() -> bool:
            return any(self.bench.answers(others, self._try_to_create).values())

        return self.bench.wait.becomes_true(is_acknowledged, "an acknowledged creation of a topic", within)

    def _try_to_create(self, name: str) -> bool:
        topic = NewTopic(self.bench.fresh_name("lab"), num_partitions=1, replication_factor=1)
        client = self.client(name, purpose="write")
        try:
            return all(one.error is Error.NONE for one in client.create_topics([topic], timeout_ms=WRITE_MS).topics)
        except (Unanswered, ConnectionClosed):
            return False


def prepare_lab(bench: Bench) -> QuorumData:
    """Prepare a quorum of three whose controllers agree on a leader."""
    quorum = Quorum(bench, QuorumData(cluster_id_of(bench)))
    quorum.agreed_leader()
    return QuorumData(quorum.cluster_id)


LAB = Rig(QUORUM_LAB, prepare_lab, QuorumLab)
SLOW = Rig(SLOW_QUORUM, prepare_lab, QuorumLab, name="prepare_slow_lab")
