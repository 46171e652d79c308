"""Answers that say too little to be a fact about a partition, beside near ones that are facts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from history.events import Answer, Call, Example
from history.readings import CopyStep, StartCopying
from protocol.operations import OPERATIONS
from tests.support import filled

Plain = dict[str, Any]
EXAMPLE = Example(example="e", check="c", column="4.3.1")


def story(op: str, request: Plain, value: Plain) -> list[PartitionStory]:
    """The story of the partition that one answer is about; none if the answer holds no fact."""
    reading = Reading(EXAMPLE, [PartitionStory])
    kind = OPERATIONS[op]
    call = Call(n=0, t=0.0, op=op, node="broker-1", request=filled.asked(kind, request))
    reading.feed([call, Answer(n=1, t=1.0, call=0, outcome="ok", value=filled.answered(kind, value))])
    return reading.stories(PartitionStory)  # type: ignore[return-value]


@pytest.mark.parametrize(("version", "facts"), [(0, 0), (6, 0), (7, 1), (12, 1)])
def test_metadata_without_leader_epochs_is_no_fact(version: int, facts: int) -> None:
    state = {"partition_index": 0, "leader_id": 1, "leader_epoch": 3, "isr_nodes": [1], "replica_nodes": [1]}
    topics = [{"name": "a", "partitions": [state]}]
    value = {"version": version, "brokers": [{"node_id": 1}], "topics": topics}
    assert len(story("metadata", {"topics": ["a"]}, value)) == facts


@pytest.mark.parametrize(("limit", "facts"), [(4096, 0), (1024 * 1024, 1)])
def test_a_fetch_of_a_few_bytes_is_no_fact(limit: int, facts: int) -> None:
    wanted = {"topic": {"name": "a", "id": None}, "partition": 0, "fetch_offset": 0, "partition_max_bytes": limit}
    epochs = {"current_leader_epoch": -1, "last_fetched_epoch": -1}
    marks = {"high_watermark": 5, "last_stable_offset": 5, "log_start_offset": 0, "batches": []}
    part = {"topic": "a", "topic_id": None, "partition": 0, "error_code": 0, "version": 12, "diverging_epoch": None}
    request = {"partitions": [wanted | epochs], "options": {"replica_id": -1}}
    assert len(story("fetch_many", request, {"version": 12, "partitions": [part | marks]})) == facts


def test_a_client_that_copies_appends_unknown_records() -> None:
    reading = Reading(EXAMPLE, [PartitionStory])
    request, value = StartCopying("g", "classic", "from", "to"), CopyStep()
    call = Call(n=0, t=0.0, op=request.op, node="copier-1", request=msgspec.to_builtins(request))
    reading.feed([call, Answer(n=1, t=1.0, call=0, outcome="ok", value=msgspec.to_builtins(value))])
    [found] = reading.stories(PartitionStory)
    assert isinstance(found, PartitionStory)
    assert (found.name, [one.opaque for one in found.produced]) == ("to-0", [True])
