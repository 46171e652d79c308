"""Many partitions whose leader has an uncommitted suffix, and a client that fetches while a broker truncates it."""

from collections.abc import Callable

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.faulting import record_fault
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.partition import PartitionData, new_topics
from conformance.rigs.log.quiescence import read_whole
from conformance.rigs.log.reader import delivered_of
from conformance.rigs.log.unclean_elections import UNCLEAN, UncleanPartition, UncleanPartitionData
from fixtures.views.nodes import ask_until_granted
from fixtures.wire import NodeClient, WireError
from fixtures.wire.records import RecordsError
from history.readings import ReadRecord
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import DEBUGGER, LATEST, FetchAnswer, FetchedPartition, FetchPartition, OffsetQuery, ProducePartition
from protocol.messages import Topic
from protocol.records import batch
from protocol.topics import ElectionType

PARTITIONS = 24
"""The number of partitions: truncation follows the diverging answer so closely that it shows only on some of many."""


class ManyPartitionsData(msgspec.Struct, frozen=True):
    """Topics with one partition each, and the brokers: the leader of all, their follower, and one without replicas."""

    topics: tuple[Topic, ...]
    first: str
    second: str
    bystander: str


class ManyPartitions:
    """Partitions with the same leader and follower, identified by topic name."""

    def __init__(self, bench: Bench, data: ManyPartitionsData) -> None:
        self.bench = bench
        self.first, self.second, self.bystander = data.first, data.second, data.bystander
        self.topics = data.topics
        self.couples = {
            topic.name: UncleanPartition(
                bench, UncleanPartitionData(PartitionData(topic, 0), data.first, data.second, data.bystander)
            )
            for topic in data.topics
        }
        self._names = {topic.id: topic.name for topic in data.topics}

    def name_of(self, fetched: FetchedPartition) -> str:
        """Return the topic name of an answer; newer versions have only the topic id."""
        return fetched.topic or self._names[fetched.topic_id]

    # --- writing

    def write(self, to: str, *values: bytes, acks: int = -1) -> None:
        """Write the same values to all partitions."""
        wanted = [ProducePartition(topic, 0, batch(*values)) for topic in self.topics]
        node = self.bench.node(to)
        ask_until_granted(self.bench, lambda: node.produce_many(wanted, acks=acks), f"writes to {to} acknowledged")

    def log_ends(self, node: str) -> set[int]:
        """Return the log end offsets of one broker's replicas."""
        wanted = [OffsetQuery(topic.name, 0, LATEST) for topic in self.topics]
        return {p.offset for p in self.bench.node(node).list_offsets_many(wanted, replica_id=DEBUGGER).partitions}

    # --- leaders

    def states(self) -> list[PartitionMetadata]:
        """Return all partitions in the bystander's Metadata."""
        answer = self.bench.node(self.bystander).metadata(list(self.couples))
        return [answer.topic(name).partition(0) for name in self.couples]

    def await_takeover(self) -> dict[str, int]:
        """Return the leader epochs of all partitions once the second broker serves as their leader."""
        return {name: couple.await_leadership(self.second).leader_epoch for name, couple in self.couples.items()}

    def await_no_leaders(self) -> set[tuple[int, ...]]:
        """Return the ISRs of all partitions once none has a leader."""

        def without() -> set[tuple[int, ...]] | None:
            states = self.states()
            return {state.isr for state in states} if {state.leader for state in states} == {-1} else None

        return self.bench.eventually(without, "no partition with a leader")

    def elect(self) -> dict[str, int]:
        """Elect the second broker, the only live replica, uncleanly on all partitions; return the leader epochs."""
        node = self.bench.node(self.bystander)

        def try_to_elect() -> bool:
            answer = node.elect_leaders([(name, 0) for name in self.couples], ElectionType.UNCLEAN)
            return {answer.error, *(p.error for p in answer.partitions)} <= {Error.NONE, Error.ELECTION_NOT_NEEDED}

        record_fault(self.bench.tape, UNCLEAN, "inject", node=self.second)
        self.bench.eventually(try_to_elect, f"an unclean election of {self.second}", every=0.1)
        epochs = self.await_takeover()
        seen = {"epochs": sorted(set(epochs.values()))}
        record_fault(self.bench.tape, UNCLEAN, "witness", node=self.second, detail=seen)
        return epochs

    # --- reading

    def logs(self) -> dict[str, FetchedPartition]:
        """Return the full log of each partition, read from its leader."""
        found = {name: couple.await_agreement() for name, couple in self.couples.items()}
        return {
            name: read_whole(self.couples[name], self.bench.node(state.leader), state.leader_epoch)
            for name, state in found.items()
        }


class RepeatedFetches:
    """Back-to-back fetches of all partitions from one broker, as by a consumer of a follower."""

    def __init__(
        self, crowd: ManyPartitions, broker: str, offset: int, end: int, epochs: dict[str, int] | None = None
    ) -> None:
        """Prepare the fetches. Every other one names no leader epoch and is served as soon as the broker listens; the
        others name `epochs` and are served once the broker knows those, which shows its progress."""
        self.crowd = crowd
        self.node: NodeClient = crowd.bench.node(broker, purpose="hammer")
        self.offset, self.end = offset, end
        self.answers: list[FetchAnswer] = []
        self.caught_in_time: set[str] = set()
        self._done: set[str] = set()
        self._wanted = [self._fetches({}), self._fetches(epochs or {})]

    def _fetches(self, epochs: dict[str, int]) -> list[FetchPartition]:
        return [
            FetchPartition(
                topic=topic, partition=0, fetch_offset=self.offset, current_leader_epoch=epochs.get(topic.name, -1)
            )
            for topic in self.crowd.topics
        ]

    def until_answered(self, within: float) -> None:
        """Continue until the broker has answered for every partition before it caught up there. Raises Overdue."""
        what = f"{self.node.node} answering for all partitions"
        self._fetch_until(lambda: len(self.caught_in_time) == len(self.crowd.couples), what, within)

    def until_caught_up(self, within: float) -> None:
        """Continue until the broker has all partitions up to `end`. Raises Overdue."""
        what = f"{self.node.node} following up to {self.end} everywhere"
        self._fetch_until(lambda: len(self._done) == len(self.crowd.couples), what, within)

    def _fetch_until(self, enough: Callable[[], bool], what: str, within: float) -> None:
        self.crowd.bench.eventually(lambda: self._fetch_once() and enough(), what, within=within, every=0.001)

    def _fetch_once(self) -> bool:
        try:
            self.answers.append(self.node.fetch_many(self._wanted[0]))
            self._note(self.node.fetch_many(self._wanted[1]))
        except WireError:
            return False
        except RecordsError:
            # The file was truncated while the kernel was in sendfile, and the truncated part arrives as zeros.
            return False
        return True

    def _note(self, answer: FetchAnswer) -> None:
        """Sort the answered partitions into those before and those after they caught up."""
        self.answers.append(answer)
        for one in answer.partitions:
            if one.error is Error.NONE:
                (self._done if one.high_watermark >= self.end else self.caught_in_time).add(self.crowd.name_of(one))

    def served_records(self) -> dict[str, set[ReadRecord]]:
        """Return all records that the broker ever returned, by partition."""
        found: dict[str, set[ReadRecord]] = {name: set() for name in self.crowd.couples}
        for answer in self.answers:
            for one in answer.partitions:
                found[self.crowd.name_of(one)] |= set(delivered_of(one))
        return found

    def answers_with(self, doomed: dict[str, set[ReadRecord]]) -> list[FetchAnswer]:
        """Return the answers that contain any of these records."""

        def shows(one: FetchedPartition) -> bool:
            return bool(doomed[self.crowd.name_of(one)] & set(delivered_of(one)))

        return [answer for answer in self.answers if any(shows(one) for one in answer.partitions)]


def records_missing_from(
    served: dict[str, set[ReadRecord]], logs: dict[str, FetchedPartition]
) -> dict[str, set[ReadRecord]]:
    """Return the returned records that the final logs lack, by partition."""
    return {name: records - set(delivered_of(logs[name])) for name, records in served.items()}


def prepare_crowd(bench: Bench) -> ManyPartitionsData:
    bystander, second, first = bench.brokers
    replicas = (bench.id_of(first), bench.id_of(second))
    data = ManyPartitionsData(
        tuple(new_topics(bench, [replicas] * PARTITIONS, min_insync_replicas="1")), first, second, bystander
    )
    for couple in ManyPartitions(bench, data).couples.values():
        couple.wait_until_whole()
    return data


CROWD = Rig(QUICK_CLUSTER, prepare_crowd, ManyPartitions)
