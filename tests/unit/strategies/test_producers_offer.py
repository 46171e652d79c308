"""The offer of the producer machine: its steps suit the partitions and producers that they are drawn for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis.strategies import lists

from strategies import producers as do
from strategies.producers_offer import (
    COORDINATOR,
    EVERY_PARTITION,
    LAST_EPOCH,
    MAIN,
    NEAR,
    OFFER,
    RARELY_USED,
    STRICT,
)
from strategies.steps import Disturb, Heal

PYTHON = (do.PYTHON_PLAIN, do.PYTHON_TRANSACTIONAL)
OF_TRANSACTIONS = (do.BumpAsFenced, do.CommitOffset, do.EndNothing, do.EndTransaction)


def drawn(name: str, on: str, count: int = 25) -> list[Any]:
    """Steps of this kind, the same in each run."""
    values: list[Any] = []

    @settings(phases=[Phase.generate], max_examples=count, database=None, derandomize=True)
    @given({**OFFER.work, **OFFER.administration}[name](on))
    def collect(value: Any) -> None:
        values.append(value)

    collect()
    return values


@pytest.mark.parametrize("name", [*OFFER.work, *OFFER.administration])
def test_steps_are_about_the_partition_or_its_topic(name: str) -> None:
    for on in EVERY_PARTITION:
        assert {step.on for step in drawn(name, on) if hasattr(step, "on")} <= {on, on.rpartition("-")[0]}


@pytest.mark.parametrize("name", OFFER.work)
def test_requests_of_transactions_are_those_of_transactional_producers(name: str) -> None:
    steps = drawn(name, "strict-0")
    assert {step.producer for step in steps if hasattr(step, "producer")} <= {*do.PLAIN, *do.TRANSACTIONAL, *PYTHON}
    assert {step.producer for step in steps if isinstance(step, do.OfPython | do.PythonWrite)} <= set(PYTHON)
    assert {step.producer for step in steps if isinstance(step, OF_TRANSACTIONS)}.isdisjoint(do.PLAIN)
    assert {step.request for step in steps if isinstance(step, do.SendAsFenced) and step.producer in do.PLAIN} <= {
        "produce"
    }


def scenes(count: int = 50) -> list[list[Any]]:
    """Around a partition, the same in each run."""
    values: list[Any] = []

    @settings(phases=[Phase.generate], max_examples=count, database=None, derandomize=True)
    @given(OFFER.scenes["decided"]("strict-1"))
    def collect(value: Any) -> None:
        values.append(value)

    collect()
    return values


def test_a_scene_loses_the_coordinator_of_a_decided_transaction_and_leaves_no_fault() -> None:
    for steps in scenes():
        kinds = [type(step) for step in steps]
        end = kinds.index(do.EndTransaction)
        assert kinds[end - 1 : end + 2] == [Disturb, do.EndTransaction, Disturb]
        assert (steps[end - 1].fault.peer, steps[end + 1].fault.role) == (COORDINATOR, COORDINATOR)
        assert {step.producer for step in steps if hasattr(step, "producer")} == {steps[end].producer}
        assert kinds[-1] is Heal


def test_scenes_ask_for_the_other_outcome_and_for_both_protocols() -> None:
    asked = [(step, steps[3]) for steps in scenes(200) for step in steps[4:] if isinstance(step, do.EndNothing)]
    assert asked
    assert all(step.commit != end.commit for step, end in asked)
    assert {step.producer for step, _ in asked} == {"tv2-1", "legacy-1"}


def test_a_fenced_bump_spoils_only_what_is_rarely_used() -> None:
    assert {step.producer for step in drawn("bump-as-fenced", "strict-0")} == set(RARELY_USED)
    assert {"tv2-1", "legacy-1"}.isdisjoint(RARELY_USED)


def test_many_fenced_writes_go_by_what_their_leader_has_seen_alone() -> None:
    steps: list[Any] = []

    @settings(phases=[Phase.generate], max_examples=20, database=None, derandomize=True)
    @given(lists(OFFER.work["write-as-fenced"]("strict-0"), min_size=20, max_size=20))
    def collect(values: list[Any]) -> None:
        steps.extend(values)

    collect()
    compared = [step for step in steps if step.seen and step.producer in do.PLAIN]
    assert len(steps) / 3 < len(compared) < len(steps) * 0.9
    assert {step.seen for step in steps if step.producer in do.TRANSACTIONAL} == {True, False}


def test_every_main_fault_is_offered_around_each_partition() -> None:
    assert set(MAIN) <= OFFER.faults.keys()
    assert all(OFFER.faults[name].subjects == EVERY_PARTITION for name in MAIN)


def test_unclean_elections_meet_the_loose_partition_alone() -> None:
    assert OFFER.faults["unclean-election"].subjects == ("loose-0",)
    assert set(OFFER.faults["remove-rebuilt-file"].subjects) == set(STRICT)


def test_few_examples_begin_near_the_end_of_a_producer_id() -> None:
    begun: list[list[Any]] = []

    @settings(phases=[Phase.generate], max_examples=400, database=None, derandomize=True)
    @given(OFFER.begin)
    def collect(steps: list[Any]) -> None:
        begun.append(steps)

    collect()
    near = [steps for steps in begun if isinstance(steps[0], do.RaiseEpoch)]
    assert 0 < len(near) < len(begun) / 8
    assert {steps[0].producer for steps in near} == {"tv2-1", "legacy-1"}
    assert all(LAST_EPOCH - NEAR <= steps[0].to <= LAST_EPOCH and len(steps) > 1 for steps in near)
