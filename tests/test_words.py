"""A controller's word on a partition: a change tells only what changed."""

from fixtures.disk.words import Word, word_of

MADE = {"leader": 1, "isr": [1, 2, 3], "last_known_elr": None}


def test_a_change_leaves_out_what_stays() -> None:
    assert word_of([MADE]) == Word(1, (1, 2, 3))
    assert word_of([MADE, {"leader": -2, "isr": [1, 2]}]) == Word(1, (1, 2))
    assert word_of([MADE, {"leader": 2, "isr": None}]) == Word(2, (1, 2, 3))
    assert word_of([MADE, {"leader": -1}]) == Word(-1, (1, 2, 3))


def test_the_last_known_leader_stays_known_when_nobody_is_in_sync() -> None:
    left = {"leader": -1, "isr": [], "last_known_elr": [3]}
    assert word_of([MADE, left]) == Word(-1, (), (3,))
    assert word_of([MADE, left, {"leader": 3, "isr": [3], "last_known_elr": []}]) == Word(3, (3,))
