"""Violations of many kinds with the histories that show them, made of stored examples and of what judges turn red."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Body, Check, Claims, ObservationClaim, all_checks
from conformance.core.evaluate import evaluate_check
from conformance.judging.judge import judge_all
from conformance.judging.judges import JUDGES
from conformance.judging.sentences import exchanges_of
from fixtures.tape import StoredTape
from history.events import History, Premise
from history.observations import Observation
from history.shards import Column
from protocol.words import say
from tests.support.history_pairs import PAIRS
from tests.support.stored_run import stored_examples

SHORT = 30
"""The characters of an answer, such as `producer 7 at epoch 1`, that a detail may have as well."""


class ShownExample(msgspec.Struct, frozen=True):
    """An example with its premises in the words of today, and its violations."""

    history: History
    violations: list[Observation]
    repeated: list[str] = []
    """Details of checks that have an answer once more which their sentence quotes."""


class PremiseTape(StoredTape):
    """A stored tape that keeps what each premise says."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.premises: list[str] = []

    def premise(self, what: str, met: bool) -> None:
        self.premises.append(what)


def examples_of_judges() -> Iterator[ShownExample]:
    """The red histories of judges, with all that any judge sees in them."""
    judges = [judge for judge in JUDGES if not judge.after_healing and not judge.records]
    for pair in PAIRS.values():
        history = pair()[0].history
        yield ShownExample(history, [one for one in judge_all(judges, history) if one.result == "violated"])


def examples_of_checks(column: str) -> Iterator[ShownExample]:
    """The stored examples of checks on a column, with each observation as if it were a violation."""
    checks = all_checks()
    for history in stored_examples():
        if history.example.column == column and history.example.check in checks and _is_of_today(history, checks):
            yield _shown_example(checks[history.example.check], history)


def _is_of_today(history: History, checks: Mapping[str, Check]) -> bool:
    """True if the check still takes the inputs that were drawn."""
    return set(history.example.inputs) == set(checks[history.example.check].strategies)


def _shown_example(check: Check, history: History) -> ShownExample:
    example, tape = history.example, PremiseTape(history)
    column = Column(label=example.column, version=example.column, image="", image_id="", ranges=example.ranges)
    bench = Bench(tape, column, Bench.members_of(example.members), None)
    repeated: list[str] = []
    check = msgspec.structs.replace(check, body=_as_violated(check.body, tape, repeated))
    outcome = evaluate_check(check, bench, check.parse_inputs(example.inputs), example.context)
    words = iter(tape.premises)
    events = [
        msgspec.structs.replace(one, what=next(words, one.what)) if isinstance(one, Premise) else one
        for one in history.events
    ]
    found = [one for one in outcome.observations if one.result == "violated"]
    return ShownExample(msgspec.structs.replace(history, events=events), found, repeated)


def _as_violated(body: Body, tape: StoredTape, repeated: list[str]) -> Callable[..., Claims]:
    """The same body, of which each judged observation is a violation; adds the details that repeat an answer."""

    @wraps(body)
    def run(*handles: Any, **inputs: Any) -> Claims:
        for claim in body(*handles, **inputs):
            if isinstance(claim, ObservationClaim) and claim.observation.result != "recorded":
                detail = claim.observation.detail
                events = {n: say(one) for one in claim.by if (n := tape.event_of(one)) >= 0}
                quoted = [text for n, text in events.items() if any(exchanges_of(tape.history, [n]))]
                repeated.extend(detail for text in quoted if len(text) > SHORT and text in detail)
                claim = ObservationClaim(msgspec.structs.replace(claim.observation, result="violated"), claim.by)
            yield claim

    return run
