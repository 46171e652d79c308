"""The story of the quorum: which facts can be judged, and which faults it lived through."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.excuses import Evidence
from conformance.judging.facts.exchange import Exchange
from conformance.judging.quorum.evidence import CONTROLLER_DISK_LOST, REQUEST_FORGED, VOTERS_SCRIPTED
from conformance.judging.quorum.story import QuorumStory, in_real_time
from conformance.judging.reading import Reading
from history.effects import Effects
from history.events import Answer
from tests.support.quorum import QuorumHistory

WIPED = Effects(process="down", disk=("log-dir",))
STATE_LOST = Effects(process="down", disk=("quorum-state",))
CUT = Effects(cut_off=True)


def story_of(history: QuorumHistory) -> QuorumStory:
    reading = Reading(history.example, [QuorumStory])
    reading.feed(history.events)
    [story] = reading.stories(QuorumStory)
    assert isinstance(story, QuorumStory)
    return story


def led(history: QuorumHistory | None = None) -> QuorumHistory:
    return (history or QuorumHistory()).knows(101, 101, 4)


LIVED: dict[str, tuple[Callable[[QuorumHistory], QuorumHistory], list[str]]] = {
    "the leader was killed, and another leads": (lambda h: h.fault("kill", 101).knows(102, 102, 5), ["kill"]),
    "the link to the next leader was cut": (lambda h: h.fault("cut", 102, effects=CUT).knows(102, 102, 5), ["cut"]),
    "a follower was killed, and is back": (
        lambda h: h.knows(103, 101, 4).fault("kill", 103).knows(103, 101, 4),
        ["kill"],
    ),
    "a fault's consequence shows it": (
        lambda h: h.fault("freeze", 101, effects=CUT, controller=[101, 102], quorum_epoch=[4, 5]),
        ["freeze"],
    ),
    "a broker was killed": (lambda h: h.fault("kill", 1).knows(102, 102, 5), []),
    "all brokers were killed": (
        lambda h: h.fault("crash", 1, 2, effects=Effects(process="down", every_broker=True)).knows(102, 102, 5),
        [],
    ),
    "nothing changed": (lambda h: h.fault("cut", 101, effects=CUT).knows(102, 101, 4), []),
    "an older epoch is named": (lambda h: h.fault("cut", 101, effects=CUT).knows(102, 102, 3), []),
    "it changed before": (lambda h: h.knows(102, 102, 5).fault("cut", 101, effects=CUT).knows(101, 102, 5), []),
}


@pytest.mark.parametrize("name", LIVED)
def test_it_lives_through_faults_that_hit_controllers_and_changed_the_quorum(name: str) -> None:
    happens, faults = LIVED[name]
    assert [fault for fault, _ in story_of(happens(led())).changed_by] == faults


ADMITTED: dict[str, tuple[QuorumHistory, int, int, list[Evidence]]] = {
    "three controllers": (led(), 1, 1, []),
    "a lone controller": (led(QuorumHistory((101,))), 0, 0, []),
    "a lone controller with scripted peers": (led(QuorumHistory((101,)).plays_peers()), 1, 0, [VOTERS_SCRIPTED]),
    "three with scripted peers": (led().plays_peers(), 1, 0, [VOTERS_SCRIPTED]),
    "a forged vote was granted": (led().vote(102, 103, 5, granted=True), 2, 1, [REQUEST_FORGED]),
    "a forged vote was refused": (led().vote(102, 103, 5), 2, 2, []),
    "a pre-vote was granted": (led().vote(102, 103, 5, granted=True, pre_vote=True), 2, 2, []),
    "a vote under an unknown id was granted": (led().vote(102, 9, 5, granted=True), 2, 2, []),
    "a forged begin was taken": (led().begin(102, 103, 5), 2, 1, [REQUEST_FORGED]),
    "a forged begin was refused": (led().begin(102, 103, 5, error=74), 2, 2, []),
    "a forged fetch was not answered": (
        led().fetched(replica=102, lost=True).knows(103, 101, 4),
        2,
        1,
        [REQUEST_FORGED],
    ),
    "a consumer's fetch was not answered": (led().fetched(lost=True).knows(103, 101, 4), 2, 2, []),
    "a forged fetch was served": (led().fetched(replica=102), 2, 1, [REQUEST_FORGED]),
    "a consumer's fetch was served": (led().fetched(), 2, 2, []),
    "a controller lost its disk": (
        led().fault("wipe", 102, effects=WIPED).knows(103, 101, 4),
        1,
        1,
        [CONTROLLER_DISK_LOST],
    ),
    "a broker lost its disk": (led().fault("wipe", 1, effects=WIPED).knows(103, 101, 4), 2, 2, []),
    "a controller lost quorum-state": (
        led().fault("lose", 102, effects=STATE_LOST).knows(103, 101, 4),
        1,
        1,
        [CONTROLLER_DISK_LOST],
    ),
}


@pytest.mark.parametrize("name", ADMITTED)
def test_what_breaks_the_preconditions_is_left_out(name: str) -> None:
    history, alone, together, left_out = ADMITTED[name]
    story = story_of(history)
    assert (len(story.judgeable_facts(story.known)), len(story.comparable_facts(story.known))) == (alone, together)
    assert [*story.left_out_of(story.known)] == left_out


def test_nodes_can_be_judged_alone_in_spite_of_forged_requests() -> None:
    story = story_of(led().begin(102, 103, 5))
    assert [*story.left_out_of(story.known, alone=True)] == []


def test_a_request_of_open_outcome_may_have_been_taken() -> None:
    history = led().vote(102, 103, 5, granted=True)
    history.events[-1] = Answer(n=3, t=0, call=2, outcome="info", value=None, error="lost")
    assert story_of(history).forged_at == 2


@pytest.mark.parametrize("content", [None, b"", b"{}\n{}", b'{"leaderEpoch":9}'])
def test_a_damaged_quorum_state_says_nothing(content: bytes | None) -> None:
    story = story_of(led().reads(101, "quorum-state", content))
    assert (len(story.known), story.states) == (1, [])


def test_an_error_of_describe_quorum_says_nothing() -> None:
    story = story_of(led().described(0, 0, 0, watermark=0, epoch=0, leader=0, error=6))
    assert (len(story.known), story.described) == (1, [])


def test_real_time_order_pairs_a_request_with_what_was_answered_before() -> None:
    first, long, later = Exchange(0, 1, "a", 0), Exchange(2, 9, "a", 0), Exchange(4, 5, "b", 0)
    last = Exchange(10, 11, "b", 0)
    found = [(one, [*earlier]) for one, earlier in in_real_time([last, long, first, later])]
    assert found == [(first, []), (long, [first]), (later, []), (last, [later, long])]
