"""The states that are possible by what was asked and answered, with and without an answer."""

from __future__ import annotations

from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.coordination import MAX_CONFIGURATIONS, Coordination, order_turns
from conformance.judging.producers.coordinator import RightAnswer
from conformance.judging.producers.requests import requests
from conformance.judging.producers.story import TransactionStory
from tests.support.producers import ID, TV2, ProducerHistory, stories


def all_turns(history: ProducerHistory) -> Coordination:
    """All turns; each answer is taken as one that is right."""
    together = stories(history)
    [story] = together.stories_of(TransactionStory)
    coordination = Coordination(story)
    for turn in order_turns(requests(story, [*together.stories_of(PartitionStory)]), story):
        prediction = coordination.predict(turn)
        if prediction is not None and prediction.why is not None:
            one = prediction.asked
            own = {each for each in prediction.why if (each.error, each.epoch) == (one.error, one.given_epoch)}
            coordination.explains(one, own or {RightAnswer(one.error)}, untouched=False)
    return coordination


def possible(history: ProducerHistory) -> set[tuple[str, int, int]]:
    known = all_turns(history).known
    assert known is not None
    return {(one.state.status, one.state.producer_id, one.state.epoch) for one in known}


def test_an_answer_makes_the_state_certain() -> None:
    assert possible(ProducerHistory().given()) == {("Empty", ID, 0)}
    assert possible(ProducerHistory().given().adds()) == {("Ongoing", ID, 0)}
    assert possible(ProducerHistory().given().adds().ends(True).describes("PrepareCommit")) == {
        ("PrepareCommit", ID, 0)
    }


def test_markers_may_be_written_or_not_until_an_answer_tells() -> None:
    ended = ProducerHistory().given().adds().ends(True)
    assert possible(ended) == {("PrepareCommit", ID, 0), ("CompleteCommit", ID, 0)}
    assert possible(ended.adds()) == {("Ongoing", ID, 0)}


def test_a_request_without_an_answer_took_effect_or_not() -> None:
    lost = ProducerHistory().given().adds().ends(True, lost=True)
    assert possible(lost) == {("Ongoing", ID, 0)}, "it is in flight"
    assert possible(lost.ends(False)) >= {("PrepareAbort", ID, 0)}
    assert possible(ProducerHistory().given().adds().ends(True, lost=True).ends(True)) >= {("PrepareCommit", ID, 0)}


def test_a_description_is_an_answer_too() -> None:
    ended = ProducerHistory().given().adds().ends(True, version=TV2, then=(ID, 1))
    assert possible(ended.describes("CompleteCommit", epoch=1)) == {("CompleteCommit", ID, 1)}
    assert possible(ProducerHistory().given().describes("Ongoing", epoch=3)) == {("Ongoing", ID, 3)}, (
        "else it begins there"
    )
    assert possible(ProducerHistory().given().describes("Empty", epoch=-1)) == {("Empty", ID, 0)}, "not in the log yet"


def test_a_new_producer_id_is_known_once_it_is_answered() -> None:
    assert possible(ProducerHistory().given(lost=True).given(epoch=1)) == {("Empty", ID, 1)}


def test_what_is_too_uncertain_is_not_predicted_until_the_state_is_known_again() -> None:
    history = ProducerHistory().given()
    for _ in range(MAX_CONFIGURATIONS):
        history.given(lost=True)
    history.adds()
    assert all_turns(history).known is None
    assert possible(history.describes("Empty", epoch=5)) == {("Empty", ID, 5)}


def test_a_copy_does_not_change() -> None:
    known = all_turns(ProducerHistory().given().describes("Ongoing", epoch=3))
    kept, [turn] = known.copy(), order_turns([], known.story)
    known.known = None
    assert kept.known is not None
    kept.predict(turn)
    assert known.known is None
