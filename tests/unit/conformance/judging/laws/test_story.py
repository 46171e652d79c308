"""The story of all answers of a history."""

from __future__ import annotations

from conformance.judging.facts.apis import ErrorCodes, Pairing
from conformance.judging.laws.story import WireStory
from conformance.judging.reading import Reading
from protocol.codes import Error
from tests.support.histories import LogHistory


def story(history: LogHistory) -> WireStory:
    reading = Reading(history.example, [WireStory])
    reading.feed(history.events)
    [found] = reading.stories(WireStory)
    assert isinstance(found, WireStory)
    return found


def test_a_kept_law_appears_once_for_each_case() -> None:
    found = story(LogHistory().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1))
    assert [(one.case, one.wrong) for one in found.pairings] == [("metadata", ""), ("produce", "")]
    assert [(one.case, one.wrong) for one in found.error_codes] == [("metadata", ""), ("produce", "")]


def test_a_broken_law_appears_each_time() -> None:
    failed = LogHistory().produce(1, "a", error=Error.UNKNOWN_SERVER_ERROR)
    found = story(failed.produce(1, "b", error=Error.UNKNOWN_SERVER_ERROR).produce(1, "c", at=0))
    assert ["UNKNOWN_SERVER_ERROR" in one.wrong for one in found.error_codes] == [True, True, False]
    assert [one.wrong for one in found.pairings] == [""]


def test_each_fact_goes_to_its_list() -> None:
    found = WireStory("", story(LogHistory().settled(1, 0)).timeline)
    pairing, codes = Pairing("fetch", 0, 1, ""), ErrorCodes("fetch", 0, 1, "")
    found.add_fact(codes)
    found.add_fact(pairing)
    assert (found.pairings, found.error_codes) == ([pairing], [codes])
