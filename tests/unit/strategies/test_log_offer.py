"""The offer of the log machine: its steps suit the partitions that they are drawn around."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis.strategies import DataObject, data, sampled_from

from strategies.log import Produce, Transact
from strategies.log_offer import EVERY_PARTITION, MAIN, OFFER, UNCOMPACTED, alterations, creations
from strategies.steps import AlterConfig, CreateTopic, DisturbBriefly


def drawn(strategy: Any, count: int = 300) -> list[Any]:
    """That many values, the same in each run."""
    values: list[Any] = []

    @settings(phases=[Phase.generate], max_examples=count, database=None, derandomize=True)
    @given(strategy)
    def collect(value: Any) -> None:
        values.append(value)

    collect()
    return values


def steps(name: str) -> Iterator[Any]:
    make = {**OFFER.work, **OFFER.administration}[name]
    for on in OFFER.subjects:
        yield from drawn(make(on), 12)


@pytest.mark.parametrize("name", [*OFFER.work, *OFFER.administration])
def test_steps_are_about_partitions_and_topics_of_the_machine(name: str) -> None:
    names = {*EVERY_PARTITION, *(on.rpartition("-")[0] for on in EVERY_PARTITION)}
    assert {step.on for step in steps(name) if hasattr(step, "on")} <= names


def test_every_main_fault_is_offered_around_each_partition_that_its_kind_can_hit() -> None:
    assert set(MAIN) <= OFFER.faults.keys()
    assert all("strict-0" in OFFER.faults[name].subjects for name in MAIN)
    assert set(OFFER.faults["wipe-disk"].subjects) == set(UNCOMPACTED)


def test_what_writes_records_without_a_key_is_kept_from_the_compacted_partition() -> None:
    assert "compacted-0" not in {step.on for step in steps("transact") if isinstance(step, Transact)}
    assert "compacted-0" not in {step.on for step in steps("brief") if isinstance(step, DisturbBriefly)}
    assert "compacted-0" in {step.on for step in steps("produce") if isinstance(step, Produce)}


@given(data(), sampled_from(EVERY_PARTITION))
def test_retention_is_altered_only_where_records_may_go(source: DataObject, on: str) -> None:
    step: AlterConfig = source.draw(alterations(on))
    assert step.on == "drawn" or not step.key.startswith("retention")


def test_a_created_topic_has_each_number_of_replicas_with_each_min_isr() -> None:
    made: list[CreateTopic] = drawn(creations("drawn"), 200)
    pairs = {(one.replication_factor, one.configs.get("min.insync.replicas")) for one in made}
    assert pairs == {(replicas, least) for replicas in (1, 2, 3) for least in ("1", "2", "3", None)}
