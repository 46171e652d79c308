"""A stored smoke run of unmodified releases: all judges over every example are silent, and each check finds the same again,
but for known deviations.
"""

from __future__ import annotations

import pytest

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import load_deviations
from conformance.core.bench import Bench
from conformance.core.checks import Check, all_checks
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.judging.judges import JUDGES
from conformance.running.violations import breaks_its_row
from fixtures.tape import StoredTape
from history.deeds import deeds_behind
from history.events import History
from history.observations import Observation
from history.shards import Column
from tests.support.stored_run import observed_by, stored_examples

KNOWN = {
    ("3.9.2", "GEN-12", "fetch-snapshot"),
    ("3.9.2", "KIP360-INV-16", "offset-commit-granted"),
    ("4.3.1", "GEN-12", "fetch-snapshot"),
}


def is_known(history: History, one: Observation) -> bool:
    version, deeds = history.example.column, deeds_behind(history, one)
    return any(
        known.covers(one.requirement, version) and known.explains(one.case, one.detail, deeds)
        for known in load_deviations(shipped_rows())
    )


def test_all_judges_are_silent_on_a_released_kafka_but_for_what_is_known() -> None:
    observed = [(history, one) for history in stored_examples() for one in observed_by(history)]
    violations = [(history, one) for history, one in observed if one.result == "violated"]
    assert {(history.example.column, one.requirement, one.case) for history, one in violations} == KNOWN
    assert all(is_known(history, one) for history, one in violations)
    # Not vacuous: most rows of judges are held by some example.
    held = {one.requirement for _, one in observed if one.result == "held"}
    assert len(held) > 0.75 * len({judge.row for judge in JUDGES if not judge.after_healing})


def play_again(check: Check, history: History) -> ExampleOutcome:
    """The outcome of today's check on the answers that were recorded."""
    example = history.example
    column = Column(label=example.column, version=example.column, image="", image_id="", ranges=example.ranges)
    bench = Bench(StoredTape(history), column, Bench.members_of(example.members), None)
    return evaluate_check(check, bench, check.parse_inputs(example.inputs), example.context)


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_each_check_asks_and_finds_the_same_again(version: str) -> None:
    """A check whose requests have changed is recorded again: see tests/support/stored_run.py. With other inputs than were
    drawn it is another check."""
    checks = all_checks()
    examples = [one for one in stored_examples() if one.example.column == version and one.example.check in checks]
    stored = [one for one in examples if set(one.example.inputs) == set(checks[one.example.check].strategies)]
    for history in stored:
        outcome = play_again(checks[history.example.check], history)
        assert outcome.end == "judged", f"{history.example.check}: {outcome.detail}"
        assert [o for o in outcome.observations if breaks_its_row(o) and not is_known(history, o)] == []
    seen = {history.example.check for history in stored}
    assert len(seen) > 0.5 * len(checks), "most checks have an example"
