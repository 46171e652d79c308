"""The assignors of the miniature: each partition once, and nothing moves for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.miniature.coordinators.assignors import ASSIGNORS, Assignment

COUNTS = {"t": 5, "u": 3}
MEMBERS = st.dictionaries(
    st.sampled_from("abcd"),
    st.sets(st.sampled_from(sorted(COUNTS))).map(lambda topics: {topic: COUNTS[topic] for topic in sorted(topics)}),
)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(MEMBERS, MEMBERS)
def test_each_partition_has_one_reader(
    name: str, first: dict[str, dict[str, int]], second: dict[str, dict[str, int]]
) -> None:
    before: Assignment = {}
    for members in (first, second):
        before = ASSIGNORS[name](members, before)
        wanted = {
            (topic, index) for read in members.values() for topic, count in read.items() for index in range(count)
        }
        given_to = [(place, member) for member, places in before.items() for place in places]
        assert sorted(place for place, _ in given_to) == sorted(wanted)
        assert all(place[0] in members[member] for place, member in given_to)
        assert ASSIGNORS[name](members, before) == before


@pytest.mark.parametrize("name", ASSIGNORS)
def test_it_is_even(name: str) -> None:
    shares = ASSIGNORS[name]({member: {"t": 7} for member in "abc"}, {})
    assert sorted(len(places) for places in shares.values()) == [2, 2, 3]
