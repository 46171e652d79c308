"""Descriptions of a partition in the order of its epochs, whichever broker answers."""

from __future__ import annotations

from conformance.judging.log.registrations import Described, EpochRegistrations
from tests.support.histories import LogHistory
from tests.support.judging import partition_story


def newest(history: LogHistory, event: int) -> Described | None:
    return EpochRegistrations(partition_story(history)).newest_at(event)


def test_the_newest_epoch_counts_and_in_it_the_last_answer() -> None:
    history = LogHistory().metadata(1, 1, 1).metadata(1, 1, 1, isr=(1, 2)).metadata(3, 3, 0, isr=(3,))
    found = newest(history, len(history.events))
    assert found is not None
    assert (found.epoch, found.isr) == (1, (1, 2))


def test_answers_from_the_event_on_do_not_count() -> None:
    history = LogHistory().metadata(1, 1, 0).metadata(1, 1, 1)
    earlier = newest(history, 2)
    assert earlier is not None
    assert earlier.epoch == 0
    assert newest(history, 1) is None
