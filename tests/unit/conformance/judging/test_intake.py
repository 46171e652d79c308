"""Which shards count, and what is marked: on summaries, without Spark."""

from typing import Any

import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.intake import Intake, ShardSummary, sort_shards
from history.schema import SCHEMA, WrongSchema
from tests.support.sample_shards import ShardBuilder

ROW = "KIP320-FETCH-01"


def _summary(shard: str = "s1", version: str = "4.3.1", **facts: Any) -> ShardSummary:
    """A complete shard of ten lines, unless told otherwise."""
    header_facts = facts.pop("header_facts", {})
    header = ShardBuilder(shard, version, **header_facts).header
    given: dict[str, Any] = {
        "lines": 10,
        "bad": 0,
        "numbers": 10,
        "first": 0,
        "last": 9,
        "footer": 9,
        "header": header,
    } | facts
    return ShardSummary(shard=shard, **given)


def _take(*summaries: ShardSummary, empty_files: bool = False) -> Intake:
    return sort_shards(summaries, shipped_rows(), empty_files)


def test_a_whole_shard_marks_nothing() -> None:
    intake = _take(_summary())
    (column,) = intake.columns
    assert (column.incomplete, intake.shards, intake.outdated) == ([], {"s1": "4.3.1"}, [])
    assert intake.quarantine.shards == []


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"footer": None}, "no footer"),
        ({"lines": 8, "numbers": 8}, "lacks 2 of its lines"),
        ({"last": 12, "lines": 12, "numbers": 12}, "goes on after its footer"),
        (
            {"kinds": {"replay": 1}, "counted": {"observation": 8, "replay": 1}},
            "8 lines of type observation where 0 are",
        ),
    ],
)
def test_a_shard_cut_short_is_used_and_marks_its_column(facts: dict[str, Any], reason: str) -> None:
    intake = _take(_summary(**facts), _summary("s2", "3.9.2"))
    marked = {column.kafka_version: column.incomplete for column in intake.columns}
    assert reason in marked["4.3.1"][0]
    assert marked["3.9.2"] == []
    assert set(intake.shards) == {"s1", "s2"}


def test_a_run_that_ended_early_is_named_and_lacks_no_line() -> None:
    """Two workers of it say so once; what it observed counts as before."""
    intake = _take(
        _summary(ended_early="interrupted"), _summary("s2", "3.9.2"), _summary("s3", ended_early="interrupted")
    )
    early = {column.kafka_version: column.ended_early for column in intake.columns}
    assert early == {"4.3.1": ["run r1 ended early (interrupted)"], "3.9.2": []}
    assert [column.incomplete for column in intake.columns] == [[], []]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"header": None, "label": "4.3.1"}, "no readable header"),
        ({"foreign": SCHEMA + 1, "header": None, "label": "4.3.1"}, f"schema {SCHEMA + 1}, this kit reads {SCHEMA}"),
        ({"lines": 11}, "different lines carry one number"),
        ({"headers": 2}, "different lines carry one number"),
        ({"version": "trunk", "header_facts": {"label": "4.3.1"}}, "gives 'trunk' as the version"),
        ({"header_facts": {"label": ""}}, "names a column in 0 characters"),
        ({"header_facts": {"run": "r" * 300}}, "names a run in 300 characters"),
    ],
)
def test_a_shard_that_nobody_can_vouch_for_is_quarantined(facts: dict[str, Any], reason: str) -> None:
    intake = _take(_summary("good"), _summary("bad", **facts))
    (entry,) = intake.quarantine.shards
    assert reason in entry.reason
    assert set(intake.shards) == {"good"}
    assert "shard bad is quarantined" in intake.columns[0].incomplete[0]


def test_a_shard_of_an_older_schema_ends_the_merge() -> None:
    with pytest.raises(
        WrongSchema, match=r"shard bad is of schema 1, which .*150b3fae.* reads; this kit reads schema 2\."
    ):
        _take(_summary("good"), _summary("bad", foreign=1, header=None, label="4.3.1"))


def test_what_tells_no_column_marks_them_all() -> None:
    headless = _summary("lost", header=None)
    stray = ShardSummary(shard="", lines=0, bad=1, numbers=0)
    for trouble in ([headless], [stray]):
        intake = _take(_summary(), _summary("s2", "3.9.2"), *trouble)
        assert all(column.incomplete for column in intake.columns)
    assert all(column.incomplete for column in _take(_summary(), empty_files=True).columns)


def test_a_torn_line_of_a_whole_shard_is_counted_and_harmless() -> None:
    intake = _take(_summary(bad=1))
    assert intake.quarantine.unreadable == 1
    assert intake.columns[0].incomplete == []


def test_each_run_of_a_column_can_be_taken_by_itself() -> None:
    late = {"run": "r2"}
    summaries = [_summary(), _summary("s2", header_facts=late, footer=None), _summary("s3", "3.9.2", header_facts=late)]
    intake = sort_shards(summaries, shipped_rows(), by_run=True)
    assert [(c.kafka_version, c.label, c.run) for c in intake.columns] == [
        ("3.9.2 in run r2", "3.9.2", "r2"), ("4.3.1 in run r1", "4.3.1", "r1"), ("4.3.1 in run r2", "4.3.1", "r2"),
    ]  # fmt: skip
    assert [bool(column.incomplete) for column in intake.columns] == [False, False, True]
    assert intake.shards == {"s1": "4.3.1 in run r1", "s2": "4.3.1 in run r2", "s3": "3.9.2 in run r2"}


def test_what_is_quarantined_marks_its_label_in_every_run() -> None:
    intake = sort_shards([_summary(), _summary("bad", header=None, label="4.3.1")], shipped_rows(), by_run=True)
    assert "shard bad is quarantined" in intake.columns[0].incomplete[0]


def test_columns_are_in_the_order_of_versions() -> None:
    labels = ["4.0.2", "3.10.0", "3.9.2", "3.9.2@mine"]
    summaries = [_summary(label, label.split("@")[0], header_facts={"label": label}) for label in labels]
    assert [c.kafka_version for c in _take(*summaries).columns] == ["3.9.2", "3.9.2@mine", "3.10.0", "4.0.2"]


def test_what_clusters_of_a_column_declare_is_pooled_and_differences_are_reported() -> None:
    first = _summary(header_facts={"ranges": {"Fetch": 17, "transaction.version": 0}})
    second = _summary("s2", header_facts={"ranges": {"Fetch": 17, "transaction.version": 2}})
    (column,) = _take(first, second).columns
    assert column.ranges == {"Fetch": 17, "transaction.version": 2}
    assert column.differing == {"transaction.version": [0, 2]}


def test_a_row_counts_as_changed_only_where_no_shard_ran_it_as_it_is() -> None:
    old = _summary(header_facts={"rows": {ROW: "0000"}})
    new = _summary("s2", header_facts={"rows": {ROW: shipped_rows()[ROW].hash}})
    assert _take(old).columns[0].changed == {ROW}
    both = _take(old, new)
    assert both.columns[0].changed == set()
    assert both.outdated == [("s1", ROW)]
