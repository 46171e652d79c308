"""A sweep on real brokers: over its turns every offered version of every API is asked, and released Kafka answers alike."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from conformance.catalogue import Facts, shipped_rows
from conformance.core.bench import Bench
from conformance.core.sweeping import SweepTargets, ask_all
from conformance.core.topologies import CLUSTER
from conformance.judging.judge import judge_history
from conformance.judging.laws.same_answers import every_version_says_the_same, together_is_as_one_by_one
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from conformance.running.lab import Lab
from conformance.running.settings import Settings
from fixtures.images import obtain_image
from fixtures.runs import Run
from history.events import Call, End, History, Note
from history.steps import SWEEP_NOTE, SWEPT_NOTE
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.messages import Topic
from protocol.records import Codec, batch

pytestmark = pytest.mark.docker

TURNS = 60
MAX_REQUESTS = 150


def prepared(bench: Bench) -> SweepTargets:
    """Five partitions with records, one with a second leader epoch, one with a single replica, one compressed; and a group with
    committed offsets."""
    ids = [bench.id_of(name) for name in bench.brokers]
    turned = [tuple(ids[n:] + ids[:n]) for n in range(len(ids))]
    topics = new_topics(bench, [*turned, (ids[-1],), turned[0]])
    for place, topic in enumerate(topics):
        partition = Partition(bench, PartitionData(topic, 0))
        partition.wait_until_whole()
        for n in range(3 + place):
            partition.append(batch(f"value {n}".encode(), codec=Codec.LZ4 if place == 4 else Codec.NONE))
        if place == 0:
            partition.move_leader()
            partition.write(b"a value of another epoch")
    group = bench.fresh_name("group")
    bench.eventually(lambda: commits(bench, group, topics), "offsets are committed")
    return SweepTargets([(topic, 0) for topic in topics], group)


def commits(bench: Bench, group: str, topics: list[Topic]) -> bool:
    found = bench.node(bench.brokers[0]).find_coordinator(group)
    if found.error is not Error.NONE:
        return False
    offsets = [NewOffset(topic, 0, place, leader_epoch=0) for place, topic in enumerate(topics)]
    return bench.node(found.node_id).offset_commit(group, offsets).all_answered(Error.NONE)


def requests(history: History) -> list[int]:
    """The number of requests of each sweep."""
    notes = [one.n for one in history.events if isinstance(one, Note) and one.text in (SWEEP_NOTE, SWEPT_NOTE)]
    spans = zip(notes[::2], notes[1::2], strict=True)
    return [sum(isinstance(one, Call) for one in history.events[begin:end]) for begin, end in spans]


def swept_on(version: str, run: Run, out: Path) -> History:
    """All turns on a cluster of its own."""
    with closing(Lab(Settings(versions=[version], out=str(out)), run, "gw0", {version: obtain_image(version)})) as lab:
        standing = lab.standing_cluster(version, CLUSTER)
        tape = lab.tape("sweep", standing)
        bench = lab.bench(tape, standing)
        swept = prepared(bench)
        for turn in range(TURNS):
            ask_all(bench, swept, turn)
        bench.close()
        return tape.end(End(example=tape.example.example, outcome="judged"))


@pytest.mark.parametrize("version", ["3.3.2", "3.9.2", "4.4.0"])
def test_a_released_kafka_answers_alike(run: Run, tmp_path: Path, version: str) -> None:
    history = swept_on(version, run, tmp_path)
    found = judge_history([together_is_as_one_by_one, every_version_says_the_same], history)
    assert [(one.requirement, one.case, one.detail) for one in found.observations if one.result == "violated"] == []
    facts = Facts(version=version, ranges=history.example.ranges)
    rows = [shipped_rows()[row] for row in ("GEN-04", "GEN-05")]
    applicable = {(row.id, case.id) for row in rows for case in row.applicable_cases(facts)}
    assert {(one.requirement, one.case) for one in found.observations} >= applicable
    assert max(requests(history)) <= MAX_REQUESTS
