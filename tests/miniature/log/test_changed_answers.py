"""A log that changes while its leader's answer is on the way (KIP101-SC-14), and a follower that appends all that it gets."""

from __future__ import annotations

import msgspec
import pytest

from conformance.catalogue import Facts
from conformance.core.checks import Check
from conformance.core.evaluate import ExampleOutcome, evaluate_check, judge_on_column
from conformance.judging.judges import JUDGES
from conformance.kip101 import changed_answers
from conformance.kip101.changed_answers import log_changes_under_an_answer
from conformance.kip101.flapping import MOVES, leaders_flap_under_load
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster

INPUTS: dict[str, object] = {"pick": 0, "more": 2}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the bytes over a link a hundredth as fast, since the miniature keeps all logs in memory."""
    monkeypatch.setattr(changed_answers, "FIRST", b"." * 3_000)
    monkeypatch.setattr(changed_answers, "PAYLOAD", b"." * 92)
    monkeypatch.setattr(changed_answers, "KBIT", 5)


def played(check: Check, inputs: dict[str, object], *bugs: str) -> ExampleOutcome:
    """Return an example's outcome, with all judges' observations of its history."""
    bench = mini_bench(MiniCluster(bugs))
    outcome = evaluate_check(check, bench, inputs, {})
    facts = Facts(version=bench.column.version, ranges=bench.column.ranges)
    judged = judge_on_column(facts, JUDGES, bench.tape.history).observations
    return msgspec.structs.replace(outcome, observations=[*outcome.observations, *judged])


def violated(outcome: ExampleOutcome) -> set[str]:
    return {one.requirement for one in outcome.observations if one.result == "violated"}


def test_a_follower_that_appends_batches_of_a_later_epoch_is_seen() -> None:
    broken = played(log_changes_under_an_answer, INPUTS, "later-epoch-appended")
    assert (broken.end, broken.detail) == ("judged", "")
    assert {"KIP101-TRUNC-05", "KIP101-INV-02", "KIP101-INV-18"} <= violated(broken)


def test_a_follower_that_takes_only_the_beginning_of_such_an_answer_is_right() -> None:
    honest = played(log_changes_under_an_answer, INPUTS)
    assert (honest.end, honest.detail, violated(honest)) == ("judged", "", set())
    [own] = [one for one in honest.observations if one.requirement == "KIP101-TRUNC-05"]
    assert (own.case, own.result) == ("answer-under-way", "held")


def test_an_answer_that_arrives_whole_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near: the link is fast, and the follower has everything before the leader changes."""
    monkeypatch.setattr(changed_answers, "KBIT", 500)
    quick = played(log_changes_under_an_answer, INPUTS, "later-epoch-appended")
    assert (quick.end, violated(quick)) == ("premise lost", set())


def flapped(kbit: int, monkeypatch: pytest.MonkeyPatch, *bugs: str) -> ExampleOutcome:
    monkeypatch.setattr("conformance.kip101.flapping.KBIT", kbit)
    monkeypatch.setattr("conformance.kip101.flapping.PAYLOAD", b"." * 92)
    inputs: dict[str, object] = {"picks": [0, 1] * (MOVES // 2), "tenths": [3] * MOVES, "safe": 5}
    return played(leaders_flap_under_load, inputs, *bugs)


def test_leaders_that_change_with_data_in_flight_are_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = flapped(4, monkeypatch)
    assert (slow.end, slow.detail, violated(slow)) == ("judged", "", set())
    assert {one.case for one in slow.observations if one.requirement == "KIP101-TRUNC-05"} == {"race"}


def test_calm_changes_of_leader_are_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = flapped(500, monkeypatch)
    assert calm.end == "premise lost"
    assert calm.detail.startswith("changes of leader with data in flight")
    assert not [one for one in calm.observations if one.requirement == "KIP101-TRUNC-05"]
