"""Judging while an example runs: what is fed in pieces is judged as the whole, and only what changed is judged again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from benchmarks.histories import history as made_up
from conformance.judging.excuses import STARVED
from conformance.judging.facts.log import ProduceResult
from conformance.judging.facts.transactions import InitProducerIdResult
from conformance.judging.judge import Excuse, Finding, Judge, Judging, judge, judge_all, story_judge
from conformance.judging.judges import JUDGES
from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.effects import Effects
from history.events import Answer, AnyEvent, Call, Example, Fault, History
from history.subjects import Kind
from protocol.log import Produce
from tests.support import filled
from tests.support.histories import LogHistory

EXAMPLE = Example(example="e", check="c", column="4.3.1", members=[{"name": "broker-1", "id": 1, "role": "broker"}])


@pytest.mark.parametrize("size", [1, 7, 400])
def test_a_history_that_is_fed_in_pieces_is_judged_as_the_whole(size: int) -> None:
    whole = made_up("h", 1_200, 3)
    judging = Judging(JUDGES, whole.example)
    for begin in range(0, len(whole.events), size):
        judging.feed(whole.events[begin : begin + size])
        if begin % 100 < size:
            judging.violations()
    assert judging.results().observations == judge_all(JUDGES, whole)


def test_a_fault_renews_what_was_judged_before_it() -> None:
    """Incarnations, and losses that a fault permits, are found again for all stories."""
    history = LogHistory().settled(1, 1).restart(2).settled(1, 1).all_healed().at_rest()
    judging = Judging(JUDGES, history.example)
    for end in range(len(history.events) + 1):
        judging.follow(history.events[:end])
        so_far = History(example=history.example, events=history.events[:end])
        assert judging.results().observations == judge_all(JUDGES, so_far)


def test_an_excuse_is_counted_and_is_no_observation() -> None:
    @story_judge("KIP101-INV-05", PartitionStory)
    def undecided(story: PartitionStory) -> Iterator[Finding | Excuse]:
        for one in story.produced:
            yield Finding(True, "kept", (one.event,)) if story.name == "a-0" else Excuse(STARVED, "kept")

    judging = Judging([undecided], EXAMPLE)
    judging.feed([*produce(0, "a"), *produce(2, "b"), *produce(4, "b"), *produce(6, "c")])
    assert [(one.case, one.excuse, one.times) for one in judging.results().excuses] == [("kept", STARVED.name, 3)]
    judging.feed(produce(8, "b"))
    assert [(one.requirement, one.times) for one in judging.results().excuses] == [("KIP101-INV-05", 4)]
    assert [(one.result, one.events) for one in judging.results().observations] == [("held", [1])]
    assert judging.violations() == []


# --- which stories are judged again


def produce(n: int, topic: str, producer: int = -1, sequence: int = -1) -> list[AnyEvent]:
    batch = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence, "transactional": False}
    records = {**batch, "records": [{"value": "YQ=="}]}
    request = {
        "topic": topic,
        "partition": 0,
        "records": records,
        "acks": -1,
        "transactional_id": str(producer) if producer >= 0 else None,
    }
    value = {"version": 9, "topic": topic, "partition": 0, "error_code": 0, "base_offset": n, "log_start_offset": 0}
    call = Call(n=n, t=n / 10, op="produce", node="broker-1", request=filled.asked(Produce, request))
    return [call, Answer(n=n + 1, t=n / 10, call=n, outcome="ok", value=value)]


def kill(n: int) -> Fault:
    return Fault(n=n, t=n / 10, fault="kill", phase="inject", role="leader", node="broker-1")


def noting() -> tuple[Judge, list[str]]:
    judged: list[str] = []

    @story_judge("KIP101-INV-05", PartitionStory)
    def note(story: PartitionStory) -> Iterator[Finding]:
        judged.append(story.name)
        yield Finding(True, "kept", (story.produced[-1].event,))

    return note, judged


def test_a_story_without_new_facts_is_not_judged_again_unless_a_fault_came() -> None:
    note, judged = noting()
    judging = Judging([note], EXAMPLE)
    judging.feed([*produce(0, "a"), *produce(2, "b")])
    assert [one.events for one in judging.results().observations] == [[1], [3]]
    judging.feed(produce(4, "b"))
    assert [one.events for one in judging.results().observations] == [[1], [5]]
    assert judged == ["a-0", "b-0", "b-0"]
    judging.feed([kill(6)])
    judging.results()
    assert judged[3:] == ["a-0", "b-0"]


def test_only_violations_are_told_while_it_runs() -> None:
    @judge("KIP101-INV-05")
    def even(history: History) -> Iterator[Finding]:
        yield from (
            Finding(event.n % 4 == 0, "kept", (event.n,)) for event in history.events if isinstance(event, Call)
        )

    judging = Judging([even], EXAMPLE)
    judging.feed([*produce(0, "a"), *produce(2, "a")])
    assert [one.events for one in judging.violations()] == [[2]]
    assert len(judging.results().observations) == 2


# --- a story of another kind of subject


class ProducerStory(Story):
    """One transactional id: its writes and its ids."""

    kind: ClassVar[Kind] = "transactional-id"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.written: list[ProduceResult] = []
        self.given: list[InitProducerIdResult] = []

    def add_fact(self, fact: Any) -> None:
        if isinstance(fact, ProduceResult):
            self.written.append(fact)
        elif isinstance(fact, InitProducerIdResult):
            self.given.append(fact)


@story_judge("KIP360-INV-01", ProducerStory)
def sequences_rise(story: ProducerStory) -> Iterator[Finding]:
    for before, one in zip(story.written, story.written[1:], strict=False):
        yield Finding(before.base_sequence < one.base_sequence, "rising", (before.event, one.event))


def given(n: int, producer: int) -> list[AnyEvent]:
    sent = {"producer_id": -1, "producer_epoch": -1, "transaction_timeout_ms": 60000}
    request = {**sent, "transactional_id": str(producer)}
    value = {"version": 4, "error_code": 0, "producer_id": producer, "producer_epoch": 0}
    call = Call(n=n, t=0.0, op="init_producer_id", node="broker-1", request=request)
    return [call, Answer(n=n + 1, t=0.0, call=n, outcome="ok", value=value)]


def test_a_story_of_producers_is_given_their_facts_from_the_same_reading() -> None:
    events = [*given(0, 7), *produce(2, "a", 7, 0), *produce(4, "a"), *produce(6, "b", 7, 1), *produce(8, "a", 7, 1)]
    reading = Reading(EXAMPLE, [ProducerStory, PartitionStory])
    reading.feed(events)
    [story] = reading.stories(ProducerStory)
    assert isinstance(story, ProducerStory)
    assert (story.name, [one.base_sequence for one in story.written]) == ("7", [0, 1, 1])
    assert [one.producer_id for one in story.given] == [7]
    assert [one.name for one in reading.stories(PartitionStory)] == ["a-0", "b-0"]
    found = judge_all([sequences_rise], History(example=EXAMPLE, events=events))
    assert [(one.result, one.events) for one in found] == [("held", [3, 7]), ("violated", [7, 9])]


def test_lost_quorum_state_ends_the_stories_of_partitions_alone() -> None:
    lost = Fault(
        n=2, t=0.2, fault="lose-quorum-state", phase="inject", role="voter", node="controller-101",
        effects=Effects(process="down", abrupt=True, disk=("quorum-state",)),
    )  # fmt: skip
    reading = Reading(EXAMPLE, [ProducerStory, PartitionStory])
    reading.feed([*produce(0, "a", 7, 0), lost, *produce(3, "a", 7, 1), kill(5)])
    [partition], [producer] = reading.stories(PartitionStory), reading.stories(ProducerStory)
    assert isinstance(partition, PartitionStory)
    assert isinstance(producer, ProducerStory)
    assert (len(partition.produced), len(producer.written)) == (1, 2)
    assert [fault.event for fault in partition.timeline.faults] == []
    assert [fault.event for fault in producer.timeline.faults] == [2, 5]


@story_judge("KIP101-INV-05", PartitionStory)
def produced(story: PartitionStory) -> Iterator[Finding]:
    for one in story.produced:
        yield Finding(True, "kept", (one.event,))


@judge("GEN-12")
def about_answers(history: History) -> Iterator[Finding]:
    yield Finding(True, "produce", (0,))


def test_what_is_observed_without_a_witnessed_fault_is_calm_whatever_it_is_about() -> None:
    calm = LogHistory().settled(1, 0).produce(1, "a", at=0)
    assert [one.calm for one in judge_all([produced, about_answers], calm.history)] == [True, True]
    hit = LogHistory().settled(1, 0).produce(1, "a", at=0).kill(2)
    assert [one.calm for one in judge_all([produced, about_answers], hit.history)] == [False, False]
