"""How old a row is, in clean nights."""

from conformance.campaign.night.maturity import MATURE, RowAge, ages_after, provisional_rows

ROWS = {"A": "a1", "B": "b1"}


def test_the_rows_of_the_first_night_are_mature() -> None:
    assert provisional_rows({}, ROWS) == {}
    first = ages_after({}, ROWS, executed=[], disturbed=[])
    assert provisional_rows(first, ROWS) == {}


def test_a_row_that_comes_later_is_provisional_for_fourteen_clean_nights() -> None:
    ages = ages_after({}, {"A": "a1"}, [], [])
    for night in range(MATURE):
        assert provisional_rows(ages, ROWS) == {"B": night}
        ages = ages_after(ages, ROWS, executed=ROWS, disturbed=[])
    assert provisional_rows(ages, ROWS) == {}


def test_a_night_counts_only_if_the_row_was_executed_and_nothing_new_was_found() -> None:
    ages = {"A": RowAge("a1", 3), "B": RowAge("b1", 3)}
    assert ages_after(ages, ROWS, executed=["A"], disturbed=[])["B"].nights == 3
    assert ages_after(ages, ROWS, executed=["A", "B"], disturbed=["B"])["B"].nights == 3
    assert ages_after(ages, ROWS, executed=["A", "B"], disturbed=["A"])["B"].nights == 4


def test_a_row_that_was_changed_is_young_again() -> None:
    ages = {"A": RowAge("a1", 100), "B": RowAge("b1", 100)}
    assert provisional_rows(ages, {"A": "a2", "B": "b1"}) == {"A": 0}
    assert ages_after(ages, {"A": "a2"}, ["A"], []) == {"A": RowAge("a2", 1)}
