from __future__ import annotations

from typing import Any

import pytest

from conformance.judging.sentences import MAX_LENGTH, describe_exchanges, exchanges_of, promise_text, violation_sentence
from history.events import Answer, Call, Example, History, Premise
from tests.support.structures import with_structures
from tests.support.violated import ShownExample, examples_of_checks

EXAMPLE = Example(example="e-1", check="a.check", column="4.3.1", members=[{"id": 1, "name": "broker-1"}])


def history(*answers: str) -> History:
    """The history of a transactional id that was described again and again."""
    events: list[Any] = []
    for state in answers:
        call = Call(
            n=len(events), t=0.0, op="describe_transaction", node="broker-1", request={"transactional_id": "tid"}
        )
        value = {"state": state, "producer_id": 7, "producer_epoch": 1, "partitions": [], "error_code": 0}
        events += [call, Answer(n=call.n + 1, t=0.0, call=call.n, outcome="ok", value=value)]
    return History(example=EXAMPLE, events=events)


def test_a_violation_is_told_by_what_was_asked_answered_and_promised() -> None:
    assert violation_sentence(
        history("Ongoing"), [1], "the log ends at 4", "Ended transactions are complete (abort)"
    ) == (
        "broker-1 was asked DescribeTransactions of tid and answered Ongoing, producer 7, epoch 1; the log ends at 4. "
        "Promised: Ended transactions are complete (abort)."
    )
    assert violation_sentence(history(), [], "", "It comes") == "It did not happen. Promised: It comes."


def test_equal_answers_are_told_once_with_their_number() -> None:
    again = history("Ongoing", "Ongoing", "Empty", "A", "B", "C")
    assert [*describe_exchanges([*exchanges_of(again, [1, 3, 5])], 300)] == [
        "broker-1 was asked DescribeTransactions of tid and answered Ongoing, producer 7, epoch 1 (2 times), "
        "then DescribeTransactions of tid and answered Empty, producer 7, epoch 1"
    ]
    assert [*describe_exchanges([*exchanges_of(again, [1, 5, 7, 9, 11])], 300)][-1] == "2 more answers"


def test_it_is_short_and_has_no_suffix_of_the_example() -> None:
    """Answers are cut before other evidence is."""
    long = violation_sentence(history("x" * 600), [1], "group g-e-1 has " + "y" * 60, "It comes")
    assert len(long) <= MAX_LENGTH
    assert "group g has " + "y" * 60 in long


def test_a_promise_names_the_case_where_a_row_has_several() -> None:
    assert promise_text("KIP101-INV-11", "metadata") == "One leader per epoch (Metadata of every broker)"
    assert promise_text("KIP101-INV-11", "metadata", "Metadata of every broker.") == "Metadata of every broker"


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_no_check_tells_a_violation_by_the_text_of_a_structure_or_an_answer_twice(version: str) -> None:
    examples = [*examples_of_checks(version)]
    texts = [text for one in examples for text in _texts_of(one)]
    assert with_structures(texts) == {}
    assert len(texts) > 1000
    assert {one.history.example.check: one.repeated for one in examples if one.repeated} == {}


def _texts_of(example: ShownExample) -> list[str]:
    """The premises of an example, and the sentences of its violations."""
    premises = [one.what for one in example.history.events if isinstance(one, Premise)]
    return [*premises, *(one.detail for one in example.violations)]
