"""A check's waits for conditions that may never come true. Each result says if the condition came true in time, and how late the
kit itself was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import NoReturn

import msgspec

from conformance.core.cluster import Cluster
from conformance.judging.excuses import HOST_SLEPT, STARVED, Evidence
from fixtures.tape import Tape
from fixtures.waiting import Overdue
from history.due import NOT_KNOWN, Due, is_starved
from history.events import Call, Note
from protocol.words import say

WITHIN = 30.0
"""Seconds in which the tested system must do what it owes (`conformance.judging.due`)."""

MIN_LASTING_TIMEOUT = 30.0
"""The shortest session or transaction timeout, in seconds, for which a slow kit is no explanation of a rejection."""


SLEEP_THRESHOLD = 10.0
"""Seconds by which the kit must wake late to show that the host slept: longer than a broker's session."""

HOST_NOTE = "how late the kit woke, and how busy the host was"
"""The text of the note about the host's CPU pressure."""

SLEEP_NOTE = "how late the kit woke since a session or a transaction began"
"""The text of the note about a host that slept."""


class Late(msgspec.Struct, frozen=True):
    """The longest delay, in seconds, with which the kit itself woke."""

    seconds: float


class Settled(msgspec.Struct, frozen=True):
    """The result of a wait: the number of tries, whether the condition came true `within` this many seconds, and if not, how late
    the kit itself was.

    It is no bool, since an exceeded bound proves nothing while the kit starved: `held_if` and `premise` take it as it is.
    """

    tries: int
    _met: bool = msgspec.field(name="met")
    within: float = 0.0
    late: float = 0.0

    @property
    def excuse(self) -> Evidence | None:
        """The reason why a failed wait proves nothing; None if the condition came true or the kit was on time."""
        if self._met or not self.within:
            return None
        if self.late >= SLEEP_THRESHOLD:
            return HOST_SLEPT
        return STARVED if is_starved(self.late, self.within) else None

    @property
    def outcome(self) -> bool | None:
        """True if the condition came true, False if not, None if the kit was too late to know."""
        return None if self.excuse else self._met

    def require_also(self, right: bool) -> Settled:
        """Return this result, but unmet if `right` is false."""
        return msgspec.structs.replace(self, _met=self._met and right)

    def __bool__(self) -> NoReturn:
        raise TypeError("whether a wait was met may be unknown: hand it to held_if or premise, or look at its outcome")

    def __str__(self) -> str:
        return say(self._met) if self.outcome is not None else f"not known: the kit woke {self.late:.1f} s late"


class Waiting:
    """Waits by one cluster's clock. A stored tape has the number of tries, so that a replay does not wait."""

    def __init__(self, tape: Tape, cluster: Cluster | None) -> None:
        self._tape = tape
        self._cluster = cluster

    def becomes_true(self, probe: Callable[[], bool], what: str, within: float) -> Settled:
        """Return whether `probe` became true in time. It is meant for conditions that a requirement demands: failure is a
        finding, not an error of the kit."""
        if self._cluster is None:
            # The calls of each try are on the tape as well, and their answers have to be taken from it.
            found = self._tape.call("kit", "settles", {"what": what}, Settled, lambda: Settled(0, False))
            for _ in range(found.tries):
                probe()
            return found
        found = _try_until(self._cluster, probe, what, within)
        if found.outcome is not True:
            self.note_host_pressure(found.late)
        return self._tape.call("kit", "settles", {"what": what}, Settled, lambda: found)

    def end_of_wait(self, met: bool, within: float, lasted: float = 0.0) -> Settled:
        """Return the result of a wait that a rig or check made itself; `lasted` is the time by which it exceeded its bound."""
        return Settled(1, met, within, 0.0 if met else self.recorded_late(max(within, lasted)))

    def note_host_pressure(self, late: float) -> None:
        """Record how late the kit woke, and the percentage of the last ten seconds in which some task on the host waited for CPU:
        containers may lack CPU when the kit does not."""
        if self._cluster is not None:
            self._tape.note(HOST_NOTE, {"late": late, "cpu pressure": self._cluster.cpu_pressure()})

    def slept_since(self, event: int) -> float:
        """Return how late the kit woke since an event, in seconds, if this shows that the host slept; else 0.

        A note records it, from which a stored tape repeats it: the note after the newest answer.
        """
        events = self._tape.history.events
        if self._cluster is not None:
            late = self.seconds_late(events[-1].t - events[event].t)
            if late >= SLEEP_THRESHOLD:
                self._tape.note(SLEEP_NOTE, {"since": event, "late": late})
        noted = takewhile(lambda one: not isinstance(one, Call), events[self._tape.newest_answer() + 1 :])
        found = (one.data for one in noted if isinstance(one, Note) and one.text == SLEEP_NOTE)
        return next((float(data["late"]) for data in found if data["since"] == event), 0.0)

    def overdue(self, due: Due, what: str, within: float) -> Overdue:
        """Return the error for a rig's own wait that ended in vain; `due` is what the tested system owed."""
        return Overdue(f"{what} within {within:g} s", due=due, within=within, late=self.seconds_late(within))

    def seconds_late(self, within: float) -> float:
        """Return the longest delay, in seconds, with which the kit woke in the last `within` seconds; 0 on a stored tape."""
        return 0.0 if self._cluster is None else self._cluster.seconds_late(self._cluster.now().seconds - within)

    def recorded_late(self, within: float) -> float:
        """Return `seconds_late` and record it on the tape, for a check that asks once a bound has passed."""
        return self._tape.call("kit", "late", {}, Late, lambda: Late(self.seconds_late(within))).seconds


@contextmanager
def events_of_wait(tape: Tape) -> Iterator[None]:
    """Attach the tape's events to an Overdue that is raised within the block, unless an inner wait has done so."""
    began = len(tape.history.events)
    try:
        yield
    except Overdue as overdue:
        if overdue.events is NOT_KNOWN:
            overdue.events = range(began, len(tape.history.events))
        raise


def _try_until(cluster: Cluster, probe: Callable[[], bool], what: str, within: float) -> Settled:
    tries = 0

    def try_once() -> bool:
        nonlocal tries
        tries += 1
        return probe()

    try:
        cluster.eventually(try_once, what, within, None, "step")
    except Overdue as overdue:
        return Settled(tries, False, within, overdue.late)
    return Settled(tries, True)
