"""Sweeps of a cluster in memory: what is asked of whom, in which versions, and when nothing is."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from conformance.core.bench import Bench
from conformance.core.roles import Absent
from conformance.core.sweeping import SweepTargets, ask_all, questions_of_turn, turn_of
from conformance.judging.facts.apis import API_OF, BATCHES
from conformance.judging.judge import judge_history
from conformance.judging.laws.same_answers import every_version_says_the_same, together_is_as_one_by_one
from conformance.judging.laws.sweeps import SWEPT
from conformance.machines.log.executor import LogExecutor
from conformance.machines.topics.executor import TopicsExecutor
from conformance.rigs.log.partition import new_topics
from fixtures.faults.kinds.process import Kill
from fixtures.wire import NodeClient, NotSent
from fixtures.wire.calls import Reply
from fixtures.wire.errors import NotOffered
from fixtures.wire.schemas import SchemaError, Schemas
from history.events import Call, Note
from history.steps import LEFT_OUT_NOTE, STEP_NOTE, SWEEP_NOTE, SWEPT_NOTE, note_of
from protocol.messages import Versions
from protocol.records import batch
from strategies.log import Produce
from strategies.steps import Disturb, Heal, Step, Sweep, sweeps
from tests.miniature.apis.handlers import VERSIONS
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.support.release_jars import jars_at_hand

MAX_REQUESTS = 150
TURNS = 60
LEAST = {"Fetch": 4, "OffsetFetch": 1}
"""Versions below are not asked for."""


def prepared(bench: Bench, group: str | None = "group") -> SweepTargets:
    """Five partitions, each led by another broker than the one before, and one of them with a single replica."""
    topics = new_topics(bench, [(1, 2, 3), (2, 3, 1), (3, 1, 2), (1,), (2, 3)])
    bench.node(1).produce(topics[0], 0, batch(b"value"))
    bench._require_cluster().cluster.tick(30)  # type: ignore[attr-defined]
    return SweepTargets([(topic, 0) for topic in topics], group)


def asked(bench: Bench) -> list[list[Call]]:
    """The requests of each sweep."""
    events = bench.tape.history.events
    notes = [one.n for one in events if isinstance(one, Note) and one.text in (SWEEP_NOTE, SWEPT_NOTE)]
    spans = zip(notes[::2], notes[1::2], strict=True)
    return [[one for one in events[begin:end] if isinstance(one, Call)] for begin, end in spans]


def items_of(call: Call) -> list[str]:
    return [msgspec.json.encode(item).decode() for item in BATCHES[call.op][0].items_in(call.request) or ()]


@pytest.fixture(scope="module")
def turns() -> Bench:
    bench = mini_bench(MiniCluster())
    swept = prepared(bench)
    for turn in range(TURNS):
        ask_all(bench, swept, turn)
    return bench


def test_each_version_meets_each_item_singly_and_all_of_them_together(turns: Bench) -> None:
    singly: dict[str, set[tuple[int, str]]] = defaultdict(set)
    together: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for call in (call for one in asked(turns) for call in one):
        items = items_of(call)
        (together if len(items) > 1 else singly)[call.op] |= {(call.request["version"], item) for item in items}
    for op, pairs in together.items():
        _, low, high = VERSIONS[API_OF[op]]
        versions = set(range(max(low, LEAST.get(API_OF[op], 0)), high + 1))
        assert singly[op] == set(product(versions, {item for _, item in pairs})), op
        assert {version for version, _ in pairs} == {one for one in versions if one >= 4 or op[:4] != "find"}, op
    assert together.keys() == SWEPT.keys() - {"consumer_group_describe_many"}


def test_two_brokers_are_asked_the_same_and_over_the_turns_all_of_them(turns: Bench) -> None:
    by_op = [(call.op, call.node) for one in asked(turns)[:1] for call in one]
    assert {op: len({node for other, node in by_op if other == op}) for op, _ in by_op} == {op: 2 for op, _ in by_op}
    everybody = {(call.op, call.node) for one in asked(turns) for call in one}
    assert everybody == set(product({op for op, _ in everybody}, turns.brokers))


def test_the_first_requests_come_again_at_the_end(turns: Bench) -> None:
    for one in asked(turns):
        requests = [(call.op, call.node, call.request) for call in one]
        again = requests.index(requests[0], 1)
        assert requests[again:] == requests[: len(requests) - again]


def test_a_sweep_takes_few_requests(turns: Bench) -> None:
    assert max(map(len, asked(turns))) <= MAX_REQUESTS


def test_an_honest_cluster_answers_alike_whatever_the_turn(turns: Bench) -> None:
    found = judge_history([together_is_as_one_by_one, every_version_says_the_same], turns.tape.history)
    assert [one.detail for one in found.observations if one.result == "violated"] == []
    assert found.excuses == []
    assert len(found.observations) > TURNS


def test_without_a_group_or_its_coordinator_no_group_is_asked_for() -> None:
    bench = mini_bench(MiniCluster())
    ask_all(bench, prepared(bench, None))
    assert {call.op for call in asked(bench)[0]}.isdisjoint({"find_coordinator_many", "offset_fetch"})


def test_there_is_no_sweep_of_a_partition_without_leader() -> None:
    bench = mini_bench(MiniCluster())
    swept = prepared(bench)
    bench.processes.kill("broker-1")
    bench._require_cluster().cluster.tick(60)  # type: ignore[attr-defined]
    bench.processes.start("broker-1")
    with pytest.raises(Absent, match="has no leader that broker-1 knows"):
        ask_all(bench, swept, 3)
    assert asked(bench) == []


def test_an_old_version_finds_one_coordinator_at_a_time() -> None:
    node = mini_bench(MiniCluster()).node(1)
    [found] = node.find_coordinator_many(["g"], version=3).coordinators
    assert (found.key, found.version, found.node_id) == ("g", 3, node.find_coordinator("g").node_id)
    assert [one.key for one in node.find_coordinator_many(["g", "h"]).coordinators] == ["g", "h"]
    with pytest.raises(SchemaError, match=r"v3 carries one key, not \['g', 'h'\]. Give one, or a version from 4 on"):
        node.find_coordinator_many(["g", "h"], version=3)


class Encoder(NodeClient):
    """Encodes a request by a release's own schemas, as if the node offered all their versions, and sends nothing."""

    def common_versions(self, api: str) -> Versions:
        if not self.schemas.knows(api) or (versions := self.schemas.api(api).request.versions) is None:
            raise NotOffered(api)
        return versions

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        self.schemas.api(api).request.encode(fields, self.choose_version(api, version))
        raise NotSent(api)


@pytest.mark.jars
@pytest.mark.parametrize("jar", jars_at_hand(), ids=lambda jar: jar.name)
def test_each_request_fits_the_schema_in_each_version(jar: Path) -> None:
    node = Encoder("broker-1", "", 0, Schemas.of_jar(jar))
    encoded: set[str] = set()
    bench = mini_bench(MiniCluster())
    for question, _ in questions_of_turn(bench, prepared(bench), 0):
        for version in question.versions(node):
            for items in [question.items[:1], *([question.items] if version >= question.together_from else [])]:
                with pytest.raises(NotSent):
                    question.ask(node, items, version)
                encoded.add(question.api)
    assert encoded >= {API_OF[op] for op in SWEPT} - {"ConsumerGroupDescribe", "DescribeTopicPartitions"}


def test_turns_go_round_as_examples_do() -> None:
    assert [turn_of(name) for name in ("261123-gw0-17", "miniature-1", "e")] == [17, 1, 0]


# --- as a step


def notes_of(*steps: Step) -> list[str]:
    """The notes of an executor of logs that takes these steps."""
    bench = mini_bench(MiniCluster())
    executor = LogExecutor(bench)
    for step in steps:
        bench.tape.note(STEP_NOTE, note_of(step))
        executor.step(step)  # type: ignore[arg-type]
    return [one.text for one in bench.tape.history.events if isinstance(one, Note) and one.text != STEP_NOTE]


def test_a_sweep_is_a_step_that_is_left_out_while_a_fault_stands() -> None:
    assert notes_of(Produce(), Sweep(turn=3)) == [SWEEP_NOTE, SWEPT_NOTE]
    kill = Disturb(on="strict-0", fault=Kill(role="follower"))
    assert notes_of(kill, Sweep(), Heal(), Sweep()) == [LEFT_OUT_NOTE, SWEEP_NOTE, SWEPT_NOTE]


@given(sweeps())
def test_every_turn_is_drawn_from_those_in_which_all_is_asked(step: Sweep) -> None:
    assert 0 <= step.turn < TURNS


def test_an_executor_that_names_nothing_to_sweep_leaves_it_out() -> None:
    with pytest.raises(Absent, match="TopicsExecutor names nothing"):
        TopicsExecutor(mini_bench(MiniCluster())).run(Sweep())
