"""The watchdog, which ends a run in which no check finishes any more."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType

FINISH_TIMEOUT = 600.0
"""Seconds in which some check must finish, unless the run's time is longer."""
CLEANUP_TIMEOUT = 180.0
"""Seconds in which an interrupted process must remove its clusters."""


class Watchdog:
    """A thread that interrupts the process if no check has finished for `within` seconds, and kills it if that does not help.

    It does nothing in the first `total` seconds, since a part of a machine may take all of them.
    """

    def __init__(
        self,
        total: float = 0.0,
        *,
        within: float = FINISH_TIMEOUT,
        clears_up_within: float = CLEANUP_TIMEOUT,
        interrupt: Callable[[], object] = lambda: os.kill(os.getpid(), signal.SIGINT),
        end: Callable[[], object] = lambda: os._exit(3),
    ) -> None:
        self.barked = ""
        self._within = within
        self._clears_up_within = clears_up_within
        self._interrupt = interrupt
        self._end = end
        self._lasts_until = time.monotonic() + total
        self._finished = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def note_finish(self) -> None:
        """Note that a check has finished."""
        self._finished = time.monotonic()

    def note_cleaned_up(self) -> None:
        """Note that the run has cleaned up, so that the watchdog can stop."""
        self._over.set()

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop watching; after an interruption, wait for `note_cleaned_up` first."""
        if not self.barked:
            self.note_cleaned_up()

    def _watch(self) -> None:
        while not self._over.wait(max(0.001, self._latest - time.monotonic())):
            if time.monotonic() >= self._latest:
                self.barked = f"the run was ended: no check had finished for {self._within:.0f} s"
                self._interrupt()
                if not self._over.wait(self._clears_up_within):
                    self._end()
                return

    @property
    def _latest(self) -> float:
        return max(self._finished + self._within, self._lasts_until)
