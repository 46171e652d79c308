"""Copies of records: each once, in the order of its partition."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.checks import Claim, ObservationClaim, PremiseClaim
from conformance.core.waiting import Settled
from conformance.rigs.groups.copies import INPUTS, Copying, each_once, miscopied_values
from protocol.groups import CommittedOffset, OffsetFetchAnswer

WANTED = [[b"0/0", b"0/1"], [b"1/0", b"1/1"]]


@pytest.mark.parametrize(
    "found",
    [
        [b"0/0", b"0/1", b"1/0", b"1/1"],
        [b"1/0", b"0/0", b"1/1", b"0/1"],
    ],
)
def test_partitions_may_take_turns(found: list[bytes]) -> None:
    assert each_once(found, WANTED)
    assert miscopied_values(found, WANTED) == {}


@pytest.mark.parametrize(
    ("found", "counts"),
    [
        ([b"0/0", b"0/1", b"1/0"], {b"1/1": 0}),
        ([b"0/0", b"0/1", b"1/0", b"0/1", b"1/1"], {b"0/1": 2}),
        ([b"0/1", b"0/0", b"1/0", b"1/1"], {}),
        ([b"0/0", b"0/1", b"1/0", b"1/1", b"2/0"], {b"2/0": 1}),
        ([b"0/0", b"0/1", b"1/0", b"1/0"], {b"1/0": 2, b"1/1": 0}),
    ],
    ids=["missing", "twice", "out of order", "of no partition", "one for another"],
)
def test_anything_else_is_seen(found: list[bytes], counts: dict[bytes, int]) -> None:
    assert not each_once(found, WANTED)
    assert miscopied_values(found, WANTED) == counts


class FakeCopying(Copying):
    """Two partitions whose committed offsets and copies are as a test says."""

    def __init__(self, offsets: list[int], copies: list[bytes]) -> None:
        self.group: Any = self
        self.bench = self
        self.wait = self
        self.partitions = 2
        self.offsets = offsets
        self.found = copies

    def becomes_true(self, probe: Any, what: str, within: float) -> Settled:
        return Settled(1, probe(), within)

    def stable_offset(self, partition: int) -> OffsetFetchAnswer:
        found = CommittedOffset(version=8, partition=partition, offset=self.offsets[partition])
        return OffsetFetchAnswer(version=8, partitions=(found,))

    def read_copies(self) -> tuple[list[bytes], Any]:
        return self.found, "read"


def copies(*ends: int) -> list[bytes]:
    return [f"{partition}/{offset}".encode() for partition, end in enumerate(ends) for offset in range(end)]


@pytest.mark.parametrize(
    ("offsets", "found", "results"),
    [
        ([INPUTS, INPUTS], copies(INPUTS, INPUTS), [True, True, "held"]),
        ([3, -1], copies(3, 0), [True, False, "held"]),
        ([-1, -1], [], [True, False, "held"]),
        ([3, -1], copies(4, 0), ["violated"]),
        ([3, 1], copies(3, 0), ["violated"]),
        ([INPUTS, INPUTS], [*copies(INPUTS, INPUTS), b"1/3"], ["violated"]),
    ],
    ids=["all", "a part", "nothing", "a copy whose offset is not committed", "an offset without its copy", "twice"],
)
def test_what_is_committed_breaks_the_row_and_holds_under_premises_only(
    offsets: list[int], found: list[bytes], results: list[object]
) -> None:
    claims = FakeCopying(offsets, found).observe_what_is_committed(each_copied=True)
    assert [shown(one) for one in claims] == results


def test_a_client_that_copied_nothing_shows_nothing() -> None:
    claims = FakeCopying([INPUTS, INPUTS], copies(INPUTS, INPUTS)).observe_what_is_committed(each_copied=False)
    assert [shown(one) for one in claims] == [False, True, "held"]


def shown(claim: Claim) -> object:
    """Return whether a premise is met, or the result of an observation."""
    if isinstance(claim, PremiseClaim):
        return claim.met
    assert isinstance(claim, ObservationClaim)
    return claim.observation.result


def test_a_loop_has_to_copy_all() -> None:
    part, all = FakeCopying([3, 3], copies(3, 3)), FakeCopying([INPUTS, INPUTS], copies(INPUTS, INPUTS))
    claims = [one.observe_exactly_once() for one in (part, all)]
    assert [one.observation.result for one in claims if isinstance(one, ObservationClaim)] == ["violated", "held"]
