"""Finding where a verdict changes, against looking at every version."""

from __future__ import annotations

from itertools import pairwise
from math import log2

from hypothesis import given
from hypothesis import strategies as st

from conformance.campaign.bisection import Outcome, VerdictBoundary, next_versions, skipped_versions, verdict_boundaries

Truth = dict[str, Outcome]
TELLS: list[Outcome] = ["good", "bad", ""]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[str], list[str], Truth]:
    """Versions, those to begin with, and what each of them would tell."""
    tells = draw(st.lists(st.sampled_from(TELLS), min_size=1, max_size=40))
    versions = [f"v{number}" for number in range(len(tells))]
    begun = draw(st.lists(st.booleans(), min_size=len(tells), max_size=len(tells)))
    anchors = [version for version, is_one in zip(versions, begun, strict=True) if is_one]
    return versions, anchors, dict(zip(versions, tells, strict=True))


def searched(versions: list[str], anchors: list[str], truth: Truth) -> tuple[Truth, int]:
    """The outcomes in the end, and the number of rounds."""
    lines: Truth = {}
    rounds = 0
    while batch := next_versions(versions, anchors, lines):
        assert len(set(batch)) == len(batch)
        assert not set(batch) & lines.keys()
        lines |= {version: truth[version] for version in batch}
        rounds += 1
    return lines, rounds


@given(histories())
def test_whatever_is_found_is_a_change_that_looking_at_every_version_shows(
    drawn: tuple[list[str], list[str], Truth],
) -> None:
    versions, anchors, truth = drawn
    lines, _ = searched(versions, anchors, truth)
    assert [c for c in verdict_boundaries(versions, lines) if c not in verdict_boundaries(versions, truth)] == []


@given(histories())
def test_between_anchors_that_differ_a_change_is_found(drawn: tuple[list[str], list[str], Truth]) -> None:
    versions, anchors, truth = drawn
    found = verdict_boundaries(versions, searched(versions, anchors, truth)[0])
    telling = [version for version in anchors if truth[version]]
    for low, high in pairwise(telling):
        within = [c for c in found if versions.index(low) <= versions.index(c.before) < versions.index(high)]
        assert len(within) % 2 == (truth[low] != truth[high])


@given(histories())
def test_all_versions_as_anchors_is_looking_at_every_version(drawn: tuple[list[str], list[str], Truth]) -> None:
    versions, _, truth = drawn
    lines, rounds = searched(versions, versions, truth)
    assert (lines, rounds, skipped_versions(versions, lines)) == (truth, 1, [])
    assert verdict_boundaries(versions, lines) == verdict_boundaries(versions, truth)


@given(st.integers(1, 40), st.integers(1, 40))
def test_one_change_is_found_in_as_many_rounds_as_halving_takes(count: int, first: int) -> None:
    versions = [f"v{number}" for number in range(count)]
    truth: Truth = {version: "good" if place < first else "bad" for place, version in enumerate(versions)}
    lines, rounds = searched(versions, sorted({versions[0], versions[-1]}, key=versions.index), truth)
    assert rounds <= 2 + log2(len(versions))
    assert [c.first for c in verdict_boundaries(versions, lines)] == versions[first:][:1]
    assert set(skipped_versions(versions, lines)) == set(versions) - lines.keys()


def brute(versions: list[str], truth: Truth) -> list[tuple[str, str]]:
    """Pairs, one by one, without looking at how it is done in the kit."""
    found, last = [], ""
    for version in versions:
        if truth[version] and last and truth[last] != truth[version]:
            found.append((last, version))
        last = version if truth[version] else last
    return found


@given(histories())
def test_changes_are_those_of_going_through_one_by_one(drawn: tuple[list[str], list[str], Truth]) -> None:
    versions, _, truth = drawn
    seen = verdict_boundaries(versions, truth)
    assert [(c.before, c.first) for c in seen] == brute(versions, truth)
    assert all(truth[c.first] == c.becomes and not any(truth[v] for v in c.between) for c in seen)


def test_what_tells_nothing_is_stepped_around_and_reported() -> None:
    versions = ["3.6.2", "3.7.0", "3.7.1", "3.7.2", "3.8.0"]
    truth: Truth = {"3.6.2": "bad", "3.7.0": "bad", "3.7.1": "", "3.7.2": "", "3.8.0": "good"}
    lines, _ = searched(versions, ["3.6.2", "3.7.2", "3.8.0"], truth)
    assert lines == truth
    assert verdict_boundaries(versions, lines) == [
        VerdictBoundary(before="3.7.0", first="3.8.0", becomes="good", between=["3.7.1", "3.7.2"])
    ]
