"""A broker for kafka-python's clients, on a port of this machine: it leads and coordinates everything.

It answers as a test says, by default with success, in kafka-python's own protocol classes.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

TOPIC, PARTITIONS = "topic", (0, 1)
PRODUCER_ID = 1_000

Otherwise = Callable[[Any], Any]
"""A function from a request to its response; None closes the connection without one."""


class FakeBroker:
    """A fake broker 1. `otherwise` has, by the class of a request, answers that are each given once before the usual
    one."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[Any] = []
        self.otherwise: dict[type, deque[Otherwise]] = {}
        self._ends: Counter[tuple[str, int]] = Counter()
        self._ids = PRODUCER_ID

    def then(self, request: type, *answers: Otherwise) -> None:
        self.otherwise.setdefault(request, deque()).extend(answers)

    def sent(self, request: type) -> list[Any]:
        return [one for one in self.requests if isinstance(one, request)]

    def answer(self, request: Any) -> Any:
        self.requests.append(request)
        waiting = self.otherwise.get(type(request))
        return waiting.popleft()(request) if waiting else self.usual(request)

    def usual(self, request: Any) -> Any:
        return getattr(self, f"_{type(request).__name__}")(request)

    # --- usual answers

    def _ApiVersionsRequest(self, request: Any) -> Any:
        Version = ApiVersionsResponse.ApiVersion
        offered = [Version(api_key=one.API_KEY, min_version=0, max_version=high) for one, high in HIGHEST.items()]
        return ApiVersionsResponse(error_code=0, api_keys=offered, throttle_time_ms=0)

    def _MetadataRequest(self, request: Any) -> Any:
        Topic = MetadataResponse.MetadataResponseTopic
        Partition = Topic.MetadataResponsePartition
        common = {"error_code": 0, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1]}
        partitions = [Partition(partition_index=index, offline_replicas=[], **common) for index in PARTITIONS]
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=[MetadataResponse.MetadataResponseBroker(1, "127.0.0.1", self.port, None)],
            cluster_id="fake",
            controller_id=1,
            topics=[Topic(error_code=0, name=TOPIC, is_internal=False, partitions=partitions)],
        )

    def _FindCoordinatorRequest(self, request: Any) -> Any:
        where = {"error_code": 0, "error_message": None, "node_id": 1, "host": "127.0.0.1", "port": self.port}
        return FindCoordinatorResponse(throttle_time_ms=0, **where)

    def _InitProducerIdRequest(self, request: Any) -> Any:
        self._ids += 1
        return InitProducerIdResponse(throttle_time_ms=0, error_code=0, producer_id=self._ids, producer_epoch=0)

    def _AddPartitionsToTxnRequest(self, request: Any) -> Any:
        return added(request, 0)

    def _AddOffsetsToTxnRequest(self, request: Any) -> Any:
        return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=0)

    def _TxnOffsetCommitRequest(self, request: Any) -> Any:
        Topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
        Partition = Topic.TxnOffsetCommitResponsePartition
        topics = [
            Topic(name=one.name, partitions=[Partition(each.partition_index, 0) for each in one.partitions])
            for one in request.topics
        ]
        return TxnOffsetCommitResponse(throttle_time_ms=0, topics=topics)

    def _EndTxnRequest(self, request: Any) -> Any:
        return EndTxnResponse(throttle_time_ms=0, error_code=0)

    def _ProduceRequest(self, request: Any) -> Any:
        def produced(topic: str, index: int, records: bytes) -> tuple[int, int]:
            """Return the error and the base offset. A batch has its last offset delta at byte 23."""
            offset = self._ends[topic, index]
            self._ends[topic, index] += struct.unpack_from(">i", records, 23)[0] + 1
            return 0, offset

        return written(request, produced)


def added(request: Any, error: int) -> Any:
    Topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    Partition = Topic.AddPartitionsToTxnPartitionResult
    topics = [
        Topic(name=one.name, results_by_partition=[Partition(index, error) for index in one.partitions])
        for one in request.v3_and_below_topics
    ]
    return AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=topics)


def written(request: Any, outcome: Callable[[str, int, bytes], tuple[int, int]]) -> Any:
    """Return a response with an error and a base offset for each partition."""
    Topic = ProduceResponse.TopicProduceResponse
    Partition = Topic.PartitionProduceResponse

    def of(topic: str, one: Any) -> Any:
        error, offset = outcome(topic, one.index, bytes(one.records))
        times = {"log_append_time_ms": -1, "log_start_offset": 0, "record_errors": [], "error_message": None}
        return Partition(index=one.index, error_code=error, base_offset=offset, **times)

    topics = [
        Topic(name=topic.name, partition_responses=[of(topic.name, one) for one in topic.partition_data])
        for topic in request.topic_data
    ]
    return ProduceResponse(responses=topics, throttle_time_ms=0)


def refused(error: int) -> Otherwise:
    """Refuse each partition of a Produce."""
    return lambda request: written(request, lambda topic, index, records: (error, -1))


def closes(request: Any) -> None:
    """Give no answer, so that the connection is closed."""


HIGHEST: dict[Any, int] = {
    ApiVersionsRequest: 3,
    MetadataRequest: 9,
    FindCoordinatorRequest: 3,
    InitProducerIdRequest: 4,
    AddPartitionsToTxnRequest: 3,
    AddOffsetsToTxnRequest: 3,
    TxnOffsetCommitRequest: 3,
    EndTxnRequest: 3,
    ProduceRequest: 9,
}
"""The highest version that is offered, by request."""


@contextlib.contextmanager
def kafka_python_broker() -> Iterator[FakeBroker]:
    broker = FakeBroker()
    with socket.create_server(("127.0.0.1", 0)) as server:
        broker.port = server.getsockname()[1]
        thread = threading.Thread(target=_accept, args=(server, broker))
        thread.start()
        try:
            yield broker
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(server: socket.socket, broker: FakeBroker) -> None:
    served: list[threading.Thread] = []
    with contextlib.suppress(OSError):
        while True:
            peer, _ = server.accept()
            served.append(threading.Thread(target=_serve, args=(peer, broker)))
            served[-1].start()
    for thread in served:
        thread.join()


def _serve(peer: socket.socket, broker: FakeBroker) -> None:
    classes = {one.API_KEY: one for one in HIGHEST}
    with peer, contextlib.suppress(OSError):
        while size := peer.recv(4, socket.MSG_WAITALL):
            frame = peer.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)
            key, version, correlation_id = struct.unpack_from(">hhi", frame)
            response = broker.answer(classes[key].decode(frame, version=version, header=True))
            if response is None:
                return
            response.API_VERSION = version
            response.with_header(correlation_id=correlation_id)
            peer.sendall(response.encode(header=True, framed=True))


__all__ = ["PRODUCER_ID", "TOPIC", "FakeBroker", "added", "closes", "kafka_python_broker", "refused"]
