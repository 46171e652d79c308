"""Probes on the miniature: each holds there, and detects the bugs that break just its own row."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from conformance.core.checks import Check
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.kip320.committed_positions import committed_position_is_not_diverged
from conformance.kip320.delete_records import earliest_offset_of_an_empty_log
from conformance.kip320.error_precedence import each_partition_is_answered_on_its_own
from conformance.kip320.fenced_replicas import unassigned_replica_is_no_progress
from conformance.kip320.fetch_sessions import (
    session_at_a_follower_repeats_them_too,
    session_reports_a_truncation,
)
from conformance.kip320.isr_entry import failing_fetches_lead_into_no_isr
from conformance.kip320.list_offsets import isolated_follower_answers_its_own_log_end
from conformance.kip320.uncommitted_records import high_watermark_bounds_what_consumers_see
from tests.miniature.bench import live_tape, mini_bench
from tests.miniature.core.cluster import MiniCluster

PATIENT = 60
"""Rounds after which a frozen broker is fenced. A request takes a round here; real brokers answer hundreds within a session."""


def played(check: Check, inputs: dict[str, Any], *bugs: str, case: str = "") -> ExampleOutcome:
    """Return one example's outcome on its own cluster."""
    cluster = MiniCluster(bugs, fenced_after=PATIENT)
    tape = live_tape(cluster)
    tape.example = msgspec.structs.replace(tape.example, case=case)
    bench = mini_bench(cluster, tape)
    shared = msgspec.to_builtins(check.rig.prepare(bench)) if check.rig.shared else {}
    return evaluate_check(check, bench, inputs, shared)


def cases(outcome: ExampleOutcome, result: str = "violated") -> set[tuple[str, str]]:
    """Return row and case of the check's own observations, without those of the laws."""
    found = [one for one in outcome.observations if one.result == result]
    return {(one.requirement, one.case) for one in found if not one.requirement.startswith("GEN-")}


UNCOMMITTED = {"records": 2, "offset": 1, "above": 1, "named": True, "ahead": 3, "back": 0}


def test_reads_and_offsets_are_bounded_by_the_high_watermark() -> None:
    outcome = played(high_watermark_bounds_what_consumers_see, UNCOMMITTED)
    assert (outcome.end, outcome.detail, cases(outcome)) == ("judged", "", set())
    assert {row for row, _ in cases(outcome, "held")} == set(high_watermark_bounds_what_consumers_see.own_rows)


@pytest.mark.parametrize(
    ("bug", "seen"),
    [
        ("reads-past-watermark", {("KIP320-FETCH-07", "bounded"), ("KIP320-FETCH-07", "bounded-follower"),
                                  ("KIP320-FETCH-04", "follower-stops")}),
        ("uncommitted-at-followers", {("KIP320-FETCH-07", "bounded-follower"), ("KIP320-FETCH-04", "follower-stops")}),
        ("latest-by-log-end", {("KIP320-LO-01", "below-log-end")}),
        ("own-end-by-watermark", {("KIP320-LO-05", "above-watermark")}),
        ("epoch-end-by-watermark", {("KIP320-OFLE-06", "above-watermark")}),
        ("newer-epoch-served", {("KIP320-OFLE-06", "above-watermark")}),
    ],
)  # fmt: skip
def test_a_missing_bound_is_seen(bug: str, seen: set[tuple[str, str]]) -> None:
    assert cases(played(high_watermark_bounds_what_consumers_see, UNCOMMITTED, bug)) == seen


MIXED = {"order": ["no topic", "followed", "led", "no partition"], "epoch": 0, "back": 0}


def test_a_lookup_of_several_partitions_is_compared_with_each_log() -> None:
    for epoch in (0, 2):
        outcome = played(each_partition_is_answered_on_its_own, MIXED | {"epoch": epoch}, case="mixed")
        assert cases(outcome, "held") == {("KIP320-OFLE-07", "mixed")}
    mixed_up = played(each_partition_is_answered_on_its_own, MIXED, "first-end-for-all", case="mixed")
    assert cases(mixed_up) == {("KIP320-OFLE-07", "mixed")}


SEEN: list[Any] = [
    (unassigned_replica_is_no_progress, {"real": True, "id": 1000, "records": 1}, "stranger-in-progress-table"),
    (unassigned_replica_is_no_progress, {"real": False, "id": 1000, "records": 2}, "stranger-in-progress-table"),
    (failing_fetches_lead_into_no_isr, {"records": 1}, "failed-fetch-counts"),
    (
        session_at_a_follower_repeats_them_too,
        {"with_epoch": True, "past": 2, "rereads": 1, "back": 0},
        "diverging-left-out-of-session",
    ),
    (session_reports_a_truncation, {"records": 2, "rereads": 1, "back": 0}, "diverging-left-out-of-session"),
    (committed_position_is_not_diverged, {"commit_back": 0, "fetch_back": 0, "back": 0}, "genuine-pair-flagged"),
    (isolated_follower_answers_its_own_log_end, {"records": 2, "back": 0}, "own-end-by-leader"),
    (earliest_offset_of_an_empty_log, {"with_epoch": True, "back": 0}, "empty-log-without-epoch"),
]
"""Probes of one case, with that case's bug."""


@pytest.mark.parametrize(("check", "inputs", "bug"), SEEN)
def test_a_probe_holds_and_sees_its_bug(check: Check, inputs: dict[str, Any], bug: str) -> None:
    [case] = check.cases or ()
    expected = {(check.rows[0], case)}
    outcome = played(check, inputs, case=case)
    assert (outcome.detail, cases(outcome, "held"), cases(outcome)) == ("", expected, set())
    broken = played(check, inputs, bug, case=case)
    assert (broken.detail, cases(broken)) == ("", expected)
