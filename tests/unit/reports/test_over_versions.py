"""Since when a row is broken or mended, and what changed from neighbour to neighbour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.judging.verdicts import VERDICTS, Verdict
from reports.differences import is_mended
from reports.insights import Firsts, TrendPoint, VerdictChange
from reports.over_versions import NeighbourChange as Found
from reports.over_versions import neighbour_changes, neighbour_pairs, row_firsts, run_sides
from reports.texts.versions import unrun_in_words

A, V = "KIP320-FETCH-01", "4.3.1"

# Changes


def test_what_changed_between_two_columns() -> None:
    old: dict[str, Verdict] = {
        "broke": "satisfied",
        "mended": "violated",
        "same": "recorded",
        "gone": "error",
        "sinks": "flaky",
    }
    new: dict[str, Verdict] = {
        "broke": "flaky",
        "mended": "satisfied",
        "same": "recorded",
        "new": "violated",
        "sinks": "violated",
    }
    found = sorted(
        neighbour_changes({"3.9.2": old, V: new, "5.0.0": new}, [("3.9.2", V)]), key=lambda one: one.requirement
    )
    assert [(one.old, one.new, one.requirement, one.kind, one.before, one.after, one.worse) for one in found] == [
        ("3.9.2", V, "broke", "changed", "satisfied", "flaky", True),
        ("3.9.2", V, "gone", "removed", "error", "", False),
        ("3.9.2", V, "mended", "changed", "violated", "satisfied", False),
        ("3.9.2", V, "new", "added", "", "violated", False),
        ("3.9.2", V, "same", "unchanged", "recorded", "recorded", False),
        ("3.9.2", V, "sinks", "changed", "flaky", "violated", True),
    ]


COLUMN = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(VERDICTS))


@given(old=COLUMN, new=COLUMN)
def test_changes_turn_around_and_are_none_beside_oneself(old: dict[str, Verdict], new: dict[str, Verdict]) -> None:
    sides = {"old": old, "new": new}
    there, back = (
        {one.requirement: one for one in neighbour_changes(sides, [pair])} for pair in (("old", "new"), ("new", "old"))
    )
    assert there.keys() == back.keys() == old.keys() | new.keys()
    for row, change in there.items():
        assert (change.before, change.after) == (back[row].after, back[row].before)
        assert change.kind == {"added": "removed", "removed": "added"}.get(back[row].kind, back[row].kind)
        assert not (change.worse and is_mended(change))
    assert not [one for one in neighbour_changes(sides, [("old", "old")]) if one.kind != "unchanged" or one.worse]


def test_each_column_is_compared_with_the_one_before_it() -> None:
    assert neighbour_pairs(["3.9.2", "3.10.0", "4.0.0"]) == [("3.9.2", "3.10.0"), ("3.10.0", "4.0.0")]
    assert neighbour_pairs(["3.9.2"]) == neighbour_pairs([]) == []


def test_each_run_of_a_column_is_compared_with_the_run_before_it() -> None:
    verdicts: list[tuple[str, str, str, Verdict]] = [
        ("2026-11-20", "b", V, "satisfied"), ("2026-11-19", "c", V, "violated"), ("2026-11-20", "d", V, "violated"),
        ("2026-11-20", "b", "3.9.2", "error"),
    ]  # fmt: skip
    points = [
        TrendPoint(
            requirement=A, kafka_version=version, run_date=date, run=run, verdict=verdict, observations=9, violations=0
        )
        for date, run, version, verdict in verdicts
    ]
    found: list[Found] = sorted(neighbour_changes(*run_sides(points)), key=lambda one: one.old)
    assert [(one.old, one.new, one.before, one.after, one.worse) for one in found] == [
        (f"{V} in run b", f"{V} in run d", "satisfied", "violated", True),
        (f"{V} in run c", f"{V} in run b", "violated", "satisfied", False),
    ]
    assert all(isinstance(one, VerdictChange) for one in found)


# Firsts


def _firsts(rows: Mapping[str, Mapping[str, Verdict]], order: Sequence[str]) -> list[Firsts]:
    sides = {label: {row: seen[label] for row, seen in rows.items() if label in seen} for label in order}
    return sorted(row_firsts(sides, order), key=lambda one: one.requirement)


def test_first_bad_and_first_good_go_by_the_order_of_columns() -> None:
    found = _firsts(
        {
            "always": {"3.3.2": "violated", "4.3.1": "violated", "4.0.0": "inconclusive"},
            "mended": {"3.9.2": "violated", "3.10.0": "violated", "3.10.1": "satisfied", "3.8.1": "satisfied"},
            "broke": {"4.0.0": "satisfied", "4.0.1": "violated", "3.3.2": "violated"},
            "right": {"4.0.0": "satisfied", "4.0.1": "inapplicable"},
            "silent": {"4.0.0": "untested"},
            "trunk": {"4.3.1": "satisfied", "nightly": "violated"},
        },
        ["3.3.2", "3.8.1", "3.9.2", "3.10.0", "3.10.1", "4.0.0", "4.0.1", "4.3.1", "nightly"],
    )
    assert [(one.requirement, one.bad, one.good, one.first_bad, one.last_good, one.first_good) for one in found] == [
        ("always", ["3.3.2", "4.3.1"], [], "3.3.2", "", ""),
        ("broke", ["3.3.2", "4.0.1"], ["4.0.0"], "3.3.2", "", ""),
        ("mended", ["3.9.2", "3.10.0"], ["3.8.1", "3.10.1"], "3.9.2", "3.8.1", "3.10.1"),
        ("right", [], ["4.0.0"], "", "", ""),
        ("trunk", ["nightly"], ["4.3.1"], "nightly", "4.3.1", ""),
    ]


@pytest.mark.parametrize("unrun", ["not-run", "error"])
def test_a_column_that_was_not_run_is_named_between_the_good_and_the_bad_one(unrun: Verdict) -> None:
    order = ["3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"]
    row: dict[str, Verdict] = {"3.4.1": "satisfied", "3.5.2": unrun, "3.6.2": "violated", "3.7.2": "inapplicable"}
    (open_end,) = _firsts({"row": row}, order)
    assert (open_end.unrun_before, open_end.unrun_after) == (["3.5.2"], ["3.8.1", "3.9.2"]), "3.3.2 is no longer asked"
    (closed,) = _firsts({"row": row | {"3.9.2": "satisfied"}}, order)
    assert closed.unrun_after == ["3.8.1"]
    (unknown,) = _firsts({"row": {"3.6.2": "violated", "3.5.2": "inconclusive"}}, order[:4])
    assert unknown.unrun_before == ["3.3.2", "3.4.1"]
    (good,) = _firsts({"row": {"3.6.2": "satisfied"}}, order)
    assert good.unrun_before == good.unrun_after == []


def test_a_column_without_a_place_says_nothing_of_since_when() -> None:
    sides: dict[str, dict[str, Verdict]] = {V: {A: "satisfied"}, "mine": {A: "violated", "only-here": "violated"}}
    assert row_firsts(sides, [V]) == [
        Firsts(requirement=A, bad=[], good=[V], first_bad="", last_good="", first_good="")
    ]


VERSIONS = [f"3.{minor}.{patch}" for minor in (3, 9, 10, 11) for patch in (0, 2, 10)]
VERSIONS += ["nightly", "4.5.0-rc2", "4.5.0-rc10", "4.5.0"]
ROWS = st.dictionaries(
    st.sampled_from([f"row-{number}" for number in range(20)]),
    st.dictionaries(st.sampled_from(VERSIONS), st.sampled_from(VERDICTS), min_size=1), min_size=10,
)  # fmt: skip


@given(rows=ROWS)
def test_firsts_follow_from_the_lists_of_bad_and_good(rows: dict[str, dict[str, Verdict]]) -> None:
    found = {each.requirement: each for each in _firsts(rows, VERSIONS)}
    for row, verdicts in rows.items():
        bad, good = ([v for v in VERSIONS if verdicts.get(v) == verdict] for verdict in ("violated", "satisfied"))
        if not bad and not good:
            assert row not in found
            continue
        each, place = found[row], VERSIONS.index
        assert (each.bad, each.good) == (bad, good)
        assert each.first_bad == (bad[0] if bad else "")
        assert each.last_good == next((v for v in reversed(good) if bad and place(v) < place(bad[0])), "")
        assert each.first_good == next((v for v in good if bad and place(v) > place(bad[-1])), "")


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([], ""),
        (["1"], "1 not run"),
        (["1", "2", "3", "4"], "1, 2, 3, 4 not run"),
        (["1", "2", "3", "4", "5"], "1, 2, 3, 2 more not run"),
    ],
)
def test_of_many_columns_that_were_not_run_only_the_first_are_named(labels: list[str], words: str) -> None:
    assert unrun_in_words(labels) == words
