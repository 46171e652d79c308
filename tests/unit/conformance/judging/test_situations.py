"""Situations: the subject, the nodes and the changes that observations of one example have in common."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judging.judge import Finding, judge, judge_all, story_judge
from conformance.judging.log.story import PartitionStory
from conformance.judging.situations import situation_of
from history.events import Answer, History
from tests.support.histories import LogHistory


@story_judge("KIP101-INV-05", PartitionStory)
def produced(story: PartitionStory) -> Iterator[Finding]:
    for one in story.produced:
        yield Finding(True, "kept", (one.event,))


@judge("GEN-12")
def any_answer(history: History) -> Iterator[Finding]:
    for event in history.events:
        if isinstance(event, Answer):
            yield Finding(True, "produce", (event.n,))


def test_reads_of_one_unchanged_subject_by_one_node_are_one_situation() -> None:
    log = LogHistory().kill(2).settled(1, 0)
    for offset in range(20):
        log.produce(1, f"value {offset}", at=offset)
    found = judge_all([produced, any_answer], log.history)
    assert not any(one.calm for one in found)
    assert len({one.situation for one in found if one.requirement == "KIP101-INV-05"}) == 1
    assert len({one.situation for one in found if one.requirement == "GEN-12"}) < 5


def test_another_node_subject_or_change_is_another_situation() -> None:
    history = LogHistory().settled(1, 0).produce(1, "a", at=0).produce(2, "b", at=1).history
    on_one, on_two = (event.n for event in history.events if isinstance(event, Answer) and _is_produced(history, event))
    same = situation_of(history, "t-0", [on_one], ["kill"])
    others = [
        situation_of(history, "t-0", [on_two], ["kill"]),
        situation_of(history, "t-1", [on_one], ["kill"]),
        situation_of(history, "t-0", [on_one], ["kill", "stop"]),
        situation_of(history, "t-0", [on_one, on_two], ["kill"]),
        situation_of(history, "", [on_one], ["kill"]),
    ]
    assert len({same, *others}) == 6
    assert situation_of(history, "t-0", [on_one], ["kill"]) == same


def _is_produced(history: History, answer: Answer) -> bool:
    return getattr(history.events[answer.call], "op", "") == "produce"


def test_a_calm_example_has_no_situations() -> None:
    found = judge_all([produced], LogHistory().settled(1, 0).produce(1, "a", at=0).history)
    assert [(one.calm, one.situation) for one in found] == [(True, "")]
