"""The time that is left goes to the rarest cases, by what the shards hold so far."""

from __future__ import annotations

from conformance.core.registry import every_check
from conformance.running.planning.rarest import add_up_shards, rank_cases
from conformance.running.violations import Breach
from history.shards import Shard
from tests.support.declared import facts_of
from tests.support.sample_shards import ShardBuilder

OLDER, NEWER = "kip320.fencing.older_epoch_is_fenced", "kip320.fencing.newer_epoch_is_unknown"
CHECKS = [every_check()[id] for id in (OLDER, NEWER)]
FENCED, UNKNOWN = CHECKS[0].rows[0], CHECKS[1].rows[0]


def shard(*observed: tuple[str, str, str, int], label: str = "4.3.1") -> Shard:
    """A shard of (check, row, case, how often it was observed)."""
    built = ShardBuilder(f"s-{label}", label=label, ranges=facts_of("4.3.1").ranges)
    for check, row, case, count in observed:
        built.observe(row, case, count=count, check=check)
    return Shard(path="s", header=built.header, lines=built.lines, torn=0)


def test_the_case_furthest_below_its_floor_comes_first() -> None:
    found = add_up_shards(
        [shard((OLDER, FENCED, "consumer", 9), (OLDER, FENCED, "replica", 2), (NEWER, UNKNOWN, "consumer", 9))], "4.3.1"
    )
    assert found is not None
    first = rank_cases(found, CHECKS, {})
    assert {one.check for one in first} == {OLDER, NEWER}
    assert first[0].share == min(one.share for one in first)


def test_what_was_tried_comes_after_what_was_not() -> None:
    found = add_up_shards([shard((NEWER, UNKNOWN, "consumer", 90), (NEWER, UNKNOWN, "replica", 90))], "4.3.1")
    assert found is not None
    assert rank_cases(found, CHECKS, {})[0].check == OLDER
    assert rank_cases(found, CHECKS, {OLDER: 1})[0].check == NEWER


def test_each_column_is_counted_by_itself() -> None:
    shards = [shard((OLDER, FENCED, "consumer", 4)), shard((OLDER, FENCED, "consumer", 40), label="3.9.2")]
    found = add_up_shards(shards, "4.3.1")
    assert found is not None
    assert found.count(FENCED, "consumer") == 4
    assert add_up_shards(shards, "4.4.0") is None


def test_a_property_counts_by_its_situations_and_never_by_calm_observations() -> None:
    row, built = "KIP101-INV-05", ShardBuilder("s-1")
    for situation in ("before", "after"):
        built.observe(row, "kept", count=20, example="e1", situation=situation)
    built.observe(row, "kept", count=20, calm=True).observe(FENCED, "consumer", count=20, calm=True)
    found = add_up_shards([Shard(path="s", header=built.header, lines=built.lines, torn=0)], "4.3.1")
    assert found is not None
    assert (found.count(row, "kept"), found.count(FENCED, "consumer")) == (2, 20)


def test_what_is_known_to_be_broken_comes_with_it() -> None:
    built = ShardBuilder("s-1")
    built.observe(FENCED, "consumer", "violated", count=1, check=OLDER, evidence="evidence/x")
    found = add_up_shards([Shard(path="s", header=built.header, lines=built.lines, torn=0)], "4.3.1")
    assert found is not None
    assert found.breaches == {Breach(FENCED, "", "consumer"): "evidence/x"}
