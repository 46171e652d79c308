"""The miniature's version of kafka-python's producer: the same requests in the same versions, while a step waits for
it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import msgspec

from fixtures.producers import (
    END_TIMEOUT,
    Flushed,
    KafkaPythonProducer,
    OperationResult,
    ProducerTrouble,
    RecordOutcome,
)
from fixtures.wire import NodeClient, Tap, WireError
from fixtures.wire.retriable import error_of
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.messages import Answer, Topic
from protocol.records import NewBatch, batch
from protocol.transactions import InitProducerIdAnswer
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.core.controller import Key

PRODUCE, END_TXN, TXN_OFFSET_COMMIT = 9, 3, 3
REQUEST_TIMEOUT_MS = 2_000
APPENDED = (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER)
BUMPED_AFTER = (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID, Error.INVALID_PRODUCER_EPOCH)
"""Batch errors after which the batch is given up and the next epoch requested (KIP-360)."""
AGAIN = frozenset(
    (
        Error.CONCURRENT_TRANSACTIONS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.REQUEST_TIMED_OUT,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    )
)


class MiniProducer(KafkaPythonProducer):
    """A producer that sends each partition's batches one by one, and retries unknown outcomes."""

    def __init__(
        self,
        name: str,
        cluster: MiniCluster,
        tap: Tap,
        nodes: Mapping[int, NodeClient],
        transactional_id: str | None = None,
    ) -> None:
        self.name = name
        self.transactional_id = transactional_id
        self._cluster, self._plain_tap, self._nodes = cluster, tap, nodes
        self._given: InitProducerIdAnswer | None = None
        self._queue: dict[Key, list[NewBatch]] = defaultdict(list)
        self._next: dict[Key, int] = defaultdict(int)
        self._outcomes: list[RecordOutcome] = []
        self._added: set[Key] = set()
        self._is_open = self._is_broken = False
        self._ends: bool | None = None

    @property
    def is_open(self) -> bool:
        return self._is_open and self._ends is None

    @property
    def is_broken(self) -> bool:
        return self._is_broken

    # --- what an application calls

    def write(self, topic: str, partition: int, values: Iterable[bytes], timestamp_ms: int) -> None:
        def hand_over() -> None:
            self._begin()
            key = (topic, partition)
            self._queue[key].append(batch(*values, timestamp=timestamp_ms))
            self._send(key)

        self._done("client_write", {"topic": topic, "partition": partition}, hand_over)

    def flush(self, within: float) -> Flushed:
        def flushed() -> Flushed:
            self._flush(within)
            known, self._outcomes = self._outcomes, []
            return Flushed(tuple(known), sum(map(len, self._queue.values())))

        return self._plain_tap.call(self.name, "client_flush", self._add_own_id({"within": within}), Flushed, flushed)

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        def committed() -> None:
            self._begin()
            wanted = [NewOffset(Topic(topic), partition, offset)]
            self._granted(lambda node: node.add_offsets_to_txn(*self._identity, group))
            self._granted(
                lambda node: node.txn_offset_commit(
                    str(self.transactional_id), group, *self._identity[1:], wanted, version=TXN_OFFSET_COMMIT
                )
            )

        self._done("client_commit_offset", {"group": group, "offset": offset}, committed)

    def end(self, *, commit: bool) -> None:
        def ended() -> None:
            self._ends = commit
            self._end()

        self._done("client_end", {"commit": commit}, ended)

    def close(self) -> None:
        """Do nothing: no request is in flight between steps."""

    # --- transactions

    def _begin(self) -> None:
        if self._ends is not None:
            self._end()
        if self._given is None:
            self._init()
        self._is_open = self.transactional_id is not None

    def _end(self) -> None:
        """End the transaction once each batch's outcome is known."""
        self._flush(END_TIMEOUT)
        if any(self._queue.values()):
            raise ProducerTrouble(f"{self.name} did not end its transaction, and goes on with it")
        commit = bool(self._ends)
        if self._added:
            self._granted(lambda node: node.end_txn(*self._identity, committed=commit, version=END_TXN))
        self._ends, self._is_open = None, False
        self._added.clear()

    def _init(self) -> None:
        """Send InitProducerId as a new producer, or for the next epoch of its own id."""
        if self.transactional_id is None:
            self._init_at(self._nodes[self._running()])
        else:
            self._granted(self._init_at)
        self._next.clear()
        self._added.clear()

    def _init_at(self, node: NodeClient) -> InitProducerIdAnswer:
        id, epoch = (-1, -1) if self._given is None else self._identity[1:]
        answer = node.init_producer_id(self.transactional_id, producer_id=id, producer_epoch=epoch)
        self._given = answer if answer.error is Error.NONE else self._given
        return answer

    @property
    def _identity(self) -> tuple[str, int, int]:
        assert self._given is not None
        return str(self.transactional_id), self._given.producer_id, self._given.producer_epoch

    def _granted(self, ask: Callable[[NodeClient], Answer]) -> None:
        """Return the answer, retrying on transient errors. Raises ProducerTrouble."""
        until, error = self._cluster.seconds + END_TIMEOUT, Error.COORDINATOR_NOT_AVAILABLE
        while self._cluster.seconds < until and error in AGAIN:
            self._cluster.tick()
            if (id := self._cluster.coordinator) is not None:
                error = self._asked(ask, self._nodes[id])
        if error is not Error.NONE:
            self._is_broken = error not in AGAIN
            raise ProducerTrouble(f"{self.name} is refused: {error.name}")

    def _asked(self, ask: Callable[[NodeClient], Answer], node: NodeClient) -> Error:
        try:
            return error_of(ask(node))
        except WireError:
            return Error.REQUEST_TIMED_OUT

    # --- records

    def _flush(self, within: float) -> None:
        until = self._cluster.seconds + within
        while any(self._queue.values()) and self._cluster.seconds < until and not self._is_broken:
            self._cluster.tick()
            for key in [key for key, waiting in self._queue.items() if waiting]:
                self._send(key)

    def _send(self, key: Key) -> None:
        """Send the partition's first batch, or retry it."""
        leader = self._leader(key)
        if leader is None:
            return
        if self.transactional_id is not None and key not in self._added:
            self._granted(lambda node: node.add_partitions_to_txn(*self._identity, [key], version=3))
            self._added.add(key)
        sent = self._queue[key][0] = self._numbered(key, self._queue[key][0])
        try:
            answer = leader.produce(
                Topic(key[0]),
                key[1],
                sent,
                transactional_id=self.transactional_id,
                timeout_ms=REQUEST_TIMEOUT_MS,
                version=PRODUCE,
            )
        except WireError:
            return
        self._answered(key, answer.error, answer.base_offset)

    def _answered(self, key: Key, error: Error, offset: int) -> None:
        if error in AGAIN:
            return
        sent = self._queue[key].pop(0)
        for n, one in enumerate(sent.records):
            known = (offset + n, "") if error in APPENDED else (-1, error.name)
            self._outcomes.append(RecordOutcome(*key, one.value or b"", *known))
        if error in APPENDED:
            self._next[key] += len(sent.records)
        elif error in BUMPED_AFTER:
            self._bump()
        else:
            self._is_broken = True

    def _bump(self) -> None:
        """Bump the epoch: each partition's first batch is renumbered, and the transaction is gone."""
        self._init()
        self._is_open = False
        for waiting in self._queue.values():
            waiting[:1] = [msgspec.structs.replace(one, producer_id=-1) for one in waiting[:1]]

    def _numbered(self, key: Key, waiting: NewBatch) -> NewBatch:
        if waiting.producer_id >= 0:
            return waiting
        return msgspec.structs.replace(
            waiting,
            producer_id=self._identity[1],
            producer_epoch=self._identity[2],
            base_sequence=self._next[key],
            transactional=self.transactional_id is not None,
        )

    def _running(self) -> int:
        running = self._cluster.running()
        if not running:
            raise ProducerTrouble("no broker runs")
        return running[0].id

    def _leader(self, key: Key) -> NodeClient | None:
        newest = max(
            (one.views[key] for one in self._cluster.running() if key in one.views),
            key=lambda view: view.epoch,
            default=None,
        )
        return self._nodes.get(newest.leader) if newest is not None else None

    def _done(self, op: str, request: dict[str, object], do: Callable[[], None]) -> None:
        def done() -> OperationResult:
            do()
            return OperationResult("IN_TRANSACTION" if self._is_open else "READY")

        self._plain_tap.call(self.name, op, self._add_own_id(request), OperationResult, done)


__all__ = ["MiniProducer"]
