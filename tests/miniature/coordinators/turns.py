"""Requests that wait for one another: one runs at a time, until it waits or ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tests.miniature.core.cluster import MiniCluster


class Turns:
    """Actions that take turns in a fixed order. The clock goes on once all of them wait."""

    def __init__(self, cluster: MiniCluster) -> None:
        self._cluster = cluster
        self._ready: list[threading.Semaphore] = []
        self._now: threading.Semaphore | None = None

    def run(self, actions: Sequence[Callable[[], None]]) -> None:
        """Run all actions. Raises the first error of any of them."""
        errors: list[BaseException] = []
        self._ready = [threading.Semaphore(0) for _ in actions]

        def act(own: threading.Semaphore, action: Callable[[], None]) -> None:
            own.acquire()
            self._now = own
            try:
                action()
            except BaseException as error:
                errors.append(error)
            following = self._after(own)
            self._ready.remove(own)
            self._now = None
            if following is not own:
                following.release()

        pairs = zip(self._ready, actions, strict=True)
        threads = [threading.Thread(target=act, args=pair, daemon=True) for pair in pairs]
        for thread in threads:
            thread.start()
        for first in self._ready[:1]:
            first.release()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _after(self, own: threading.Semaphore) -> threading.Semaphore:
        return self._ready[(self._ready.index(own) + 1) % len(self._ready)]

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; the others go on meanwhile."""
        while not holds():
            own = self._now
            following = self._after(own) if own is not None else None
            if own is None or following is self._ready[0]:
                self._cluster.tick()
            if own is not None and following is not None and following is not own:
                following.release()
                own.acquire()
                self._now = own


__all__ = ["Turns"]
