"""Which member works on a partition, by what members were shown and have told the coordinator."""

from __future__ import annotations

from conformance.kip1251.mixed_members import Holders


def some(*partitions: int) -> frozenset[int]:
    return frozenset(partitions)


def test_a_partition_that_another_has_given_up_is_free() -> None:
    holders = Holders()
    assert holders.note_given("a", some(0, 1)) == (some(0, 1), some())
    assert holders.note_given("a", some(0)) == (some(), some())
    holders.note_kept("a", some(0))
    assert holders.note_given("b", some(1)) == (some(1), some())


def test_one_that_was_taken_away_is_its_own_until_it_says_so() -> None:
    holders = Holders()
    holders.note_kept("a", some(0, 1))
    holders.note_given("a", some(0))
    assert holders.note_given("b", some(1, 2)) == (some(1, 2), some(1))


def test_it_is_shared_with_whichever_member_still_has_it() -> None:
    holders = Holders()
    holders.note_kept("a", some(0))
    holders.note_kept("b", some(1))
    assert holders.note_given("c", some(0, 1, 2)) == (some(0, 1, 2), some(0, 1))


def test_a_member_that_left_has_nothing() -> None:
    holders = Holders()
    holders.note_kept("a", some(0, 1))
    holders.leave("a")
    assert holders.note_given("b", some(0, 1)) == (some(0, 1), some())
