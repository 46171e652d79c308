from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import msgspec
import pytest

from conformance.core.bench import Bench
from conformance.core.checks import Body, Check, Claims, ObservationClaim, all_checks
from conformance.core.evaluate import evaluate_check
from conformance.judging.sentences import LONGEST, exchanges_of, promise, sentence, tell
from fixtures.tape import StoredTape
from history.events import Answer, Call, Example, History
from history.shards import Column
from tests.support.stored_run import stored_examples
from tests.support.structures import with_structures

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
    assert sentence(history("Ongoing"), [1], "the log ends at 4", "Ended transactions are complete (abort)") == (
        "broker-1 was asked DescribeTransactions of tid and answered Ongoing, producer 7, epoch 1; the log ends at 4. "
        "Promised: Ended transactions are complete (abort)."
    )
    assert sentence(history(), [], "", "It comes") == "It did not happen. Promised: It comes."


def test_equal_answers_are_told_once_with_their_number() -> None:
    again = history("Ongoing", "Ongoing", "Empty", "A", "B", "C")
    assert [*tell([*exchanges_of(again, [1, 3, 5])], 300)] == [
        "broker-1 was asked DescribeTransactions of tid and answered Ongoing, producer 7, epoch 1 (2 times), "
        "then DescribeTransactions of tid and answered Empty, producer 7, epoch 1"
    ]
    assert [*tell([*exchanges_of(again, [1, 5, 7, 9, 11])], 300)][-1] == "2 more answers"


def test_it_is_short_and_has_no_suffix_of_the_example() -> None:
    """Answers are cut before other evidence is."""
    long = sentence(history("x" * 600), [1], "group g-e-1 has " + "y" * 60, "It comes")
    assert len(long) <= LONGEST
    assert "group g has " + "y" * 60 in long


def test_a_promise_names_the_case_where_a_row_has_several() -> None:
    assert promise("KIP101-INV-11", "metadata") == "One leader per epoch (Metadata of every broker)"
    assert promise("KIP101-INV-11", "metadata", "Metadata of every broker.") == "Metadata of every broker"


class ToldTape(StoredTape):
    """A stored tape that keeps what each premise says."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.premises: list[str] = []

    def premise(self, what: str, met: bool) -> None:
        self.premises.append(what)


def as_violated(body: Body) -> Callable[..., Claims]:
    """The same body, of which each observation is a violation."""

    @wraps(body)
    def run(*handles: Any, **inputs: Any) -> Claims:
        for claim in body(*handles, **inputs):
            if isinstance(claim, ObservationClaim):
                claim = ObservationClaim(msgspec.structs.replace(claim.observation, result="violated"), claim.by)
            yield claim

    return run


def texts_of(check: Check, history: History) -> list[str]:
    """The premises of a stored example, and the sentence of each observation if it were a violation."""
    example = history.example
    column = Column(label=example.column, version=example.column, image="", image_id="", ranges=example.ranges)
    tape = ToldTape(history)
    bench = Bench(tape, column, Bench.members_of(example.members), None)
    check = msgspec.structs.replace(check, body=as_violated(check.body))
    outcome = evaluate_check(check, bench, check.parse_inputs(example.inputs), example.context)
    return [*tape.premises, *(one.detail for one in outcome.observations if one.result == "violated")]


def is_of_today(history: History, checks: Mapping[str, Check]) -> bool:
    """True if the check still takes the inputs that were drawn."""
    return set(history.example.inputs) == set(checks[history.example.check].strategies)


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_no_check_tells_a_violation_or_a_premise_by_the_text_of_a_structure(version: str) -> None:
    checks = all_checks()
    stored = [one for one in stored_examples() if one.example.column == version and one.example.check in checks]
    found = {one.example.check: texts_of(checks[one.example.check], one) for one in stored if is_of_today(one, checks)}
    assert {check: bad for check, texts in found.items() if (bad := with_structures(texts))} == {}
    assert sum(map(len, found.values())) > 1000
