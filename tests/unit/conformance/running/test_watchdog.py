"""A run in which nothing finishes is ended, by force where it does not end by itself."""

import threading
import time

from conformance.running.planning.watchdog import Watchdog


class Process:
    """The action of a watchdog on its process."""

    def __init__(self) -> None:
        self.interrupted = threading.Event()
        self.ended = threading.Event()

    def watched(self, total: float = 0.0, within: float = 0.05) -> Watchdog:
        return Watchdog(total, within=within, clears_up_within=0.05, interrupt=self.interrupted.set, end=self.ended.set)


def test_a_run_that_hangs_is_interrupted_and_then_ended() -> None:
    process = Process()
    with process.watched() as watchdog:
        assert process.interrupted.wait(5)
    assert process.ended.wait(5), "it did not end by itself"
    assert watchdog.barked == "the run was ended: no check had finished for 0 s"


def test_a_run_that_ends_when_it_is_interrupted_is_left_alone() -> None:
    process = Process()
    with process.watched() as watchdog:
        assert process.interrupted.wait(5)
        watchdog.note_cleaned_up()
    watchdog._thread.join(5)
    assert not process.ended.is_set()


def test_each_check_that_finishes_gives_the_run_more_time() -> None:
    process = Process()
    with process.watched(within=0.5) as watchdog:
        for _ in range(8):
            time.sleep(0.1)
            watchdog.note_finish()
        assert not watchdog.barked
    watchdog._thread.join(5)
    assert not process.interrupted.is_set()


def test_the_time_of_a_run_is_its_own() -> None:
    """A part of a machine may take all of it."""
    process = Process()
    with process.watched(total=0.5) as watchdog:
        assert not process.interrupted.wait(0.2)
        assert not watchdog.barked
