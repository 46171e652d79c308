"""A stored smoke run of unmodified releases: all judges over every example are silent, but for known deviations."""

from __future__ import annotations

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import load_deviations
from conformance.judging.judges import JUDGES
from tests.support.stored_run import observed_by, stored_examples

KNOWN = {
    ("3.9.2", "GEN-12", "fetch-snapshot"),
    ("3.9.2", "KIP360-INV-16", "offset-commit-granted"),
    ("4.3.1", "GEN-12", "fetch-snapshot"),
}


def test_all_judges_are_silent_on_a_released_kafka_but_for_what_is_known() -> None:
    deviations = load_deviations(shipped_rows())
    observed = [(history.example.column, one) for history in stored_examples() for one in observed_by(history)]
    violated = {(column, one.requirement, one.case) for column, one in observed if one.result == "violated"}
    assert violated == KNOWN
    for version, row, case in violated:
        assert any(one.covers(row, version) and one.explains([case]) for one in deviations)
    # Not vacuous: most rows of judges are held by some example.
    held = {one.requirement for _, one in observed if one.result == "held"}
    assert len(held) > 0.75 * len({judge.row for judge in JUDGES if not judge.after_healing})
