"""A sweep on real brokers: over its turns every offered version of every API is asked, and released Kafka answers alike."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from conformance.core.bench import Bench
from conformance.core.sweeping import Swept, sweep
from conformance.core.topologies import CLUSTER
from conformance.judging.judge import judged
from conformance.judging.laws.same_answers import every_version_says_the_same, together_is_as_one_by_one
from conformance.rigs.log.partition import new_topics
from conformance.running.lab import Lab
from conformance.running.settings import Settings
from fixtures.images import obtain
from fixtures.runs import Run
from fixtures.wire import Error
from fixtures.wire.calls import Topic
from fixtures.wire.groups import NewOffset
from fixtures.wire.records import Codec, batch
from history.events import Call, End, History, Note
from history.taken import SWEEP_NOTE, SWEPT_NOTE

pytestmark = pytest.mark.docker

TURNS = 60
MOST_REQUESTS = 150


def prepared(bench: Bench) -> Swept:
    """Five partitions with records, one of them with a single replica and one compressed, and a group with offsets."""
    ids = [bench.id_of(name) for name in bench.brokers]
    turned = [tuple(ids[n:] + ids[:n]) for n in range(len(ids))]
    topics = new_topics(bench, [*turned, (ids[-1],), turned[0]], min_insync_replicas="1")
    for place, topic in enumerate(topics):
        written(bench, topic, 3 + place, Codec.LZ4 if place == 4 else Codec.NONE)
    group = bench.fresh("group")
    bench.eventually(lambda: commits(bench, group, topics), "offsets are committed")
    return Swept([(topic, 0) for topic in topics], group)


def written(bench: Bench, topic: Topic, records: int, codec: Codec) -> None:
    leader = bench.node(bench.brokers[0]).metadata([topic.name]).topic(topic.name).partition(0).leader
    for n in range(records):
        bench.eventually(
            lambda n=n: (  # type: ignore[misc]
                bench.node(leader).produce(topic, 0, batch(f"value {n}".encode(), codec=codec)).error is Error.NONE
            ),
            "a record is written",
        )


def commits(bench: Bench, group: str, topics: list[Topic]) -> bool:
    found = bench.node(bench.brokers[0]).find_coordinator(group)
    if found.error is not Error.NONE:
        return False
    offsets = [NewOffset(topic, 0, place, leader_epoch=0) for place, topic in enumerate(topics)]
    return bench.node(found.node_id).offset_commit(group, offsets).all_answered(Error.NONE)


def requests(history: History) -> list[int]:
    """Of each sweep."""
    notes = [one.n for one in history.events if isinstance(one, Note) and one.text in (SWEEP_NOTE, SWEPT_NOTE)]
    spans = zip(notes[::2], notes[1::2], strict=True)
    return [sum(isinstance(one, Call) for one in history.events[begin:end]) for begin, end in spans]


@pytest.mark.parametrize("version", ["3.3.2", "3.9.2", "4.4.0"])
def test_a_released_kafka_answers_alike(run: Run, tmp_path: Path, version: str) -> None:
    lab = Lab(Settings(versions=[version], out=str(tmp_path)), run, "gw0", {version: obtain(version)})
    standing = lab.standing(version, CLUSTER)
    tape = lab.tape("sweep", standing)
    bench = lab.bench(tape, standing)
    swept = prepared(bench)
    began = time.monotonic()
    for turn in range(TURNS):
        sweep(bench, swept, turn)
    print(f"{(time.monotonic() - began) / TURNS:.2f} s, {max(requests(bench.tape.history))} requests a sweep")
    bench.close()
    history = tape.end(End(example=tape.example.example, outcome="judged"))
    found = judged([together_is_as_one_by_one, every_version_says_the_same], history)
    print(Counter((one.requirement, one.case, one.result) for one in found.observations), found.excuses)
    assert [(one.requirement, one.case, one.detail) for one in found.observations if one.result == "violated"] == []
    assert len(found.observations) > TURNS
    assert max(requests(history)) <= MOST_REQUESTS
    lab.close()
