"""Waits of a check that may end in vain: whether the condition came true in time, and how late the kit itself was."""

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
"""Seconds within which the tested system must do what it owes (`conformance.judging.due`)."""

EVERY = 0.02
"""Seconds between two tries."""

LASTING = 30.0
"""The shortest session or transaction timeout, in seconds, at which a slow kit cannot explain a refusal."""


SLEPT = 10.0
"""Seconds of late waking that show a host that slept: longer than a broker's session."""

HOST = "how late the kit woke, and how busy the host was"
"""The text of the note that records it."""

SLEPT_SINCE = "how late the kit woke since a session or a transaction began"
"""The text of the note on a host that slept."""


class Late(msgspec.Struct, frozen=True):
    """The kit's own worst delay in waking, in seconds."""

    seconds: float


class Settled(msgspec.Struct, frozen=True):
    """The end of a wait: the number of tries, whether the condition came true `within` this many seconds, and if not,
    how late the kit itself woke.

    It is no bool, since a bound that passed proves nothing while the kit starved: `held_if` and `premise` take it as it
    is.
    """

    tries: int
    _met: bool = msgspec.field(name="met")
    within: float = 0.0
    late: float = 0.0

    @property
    def excuse(self) -> Evidence | None:
        """The evidence that a failed wait proves nothing; None if it came true or the kit was on time."""
        if self._met or not self.within:
            return None
        if self.late >= SLEPT:
            return HOST_SLEPT
        return STARVED if is_starved(self.late, self.within) else None

    @property
    def outcome(self) -> bool | None:
        """True if the condition came true, False if not, None if the kit was too late to know."""
        return None if self.excuse else self._met

    def require_also(self, right: bool) -> Settled:
        """Return the same end, but unmet unless `right` is true as well."""
        return msgspec.structs.replace(self, _met=self._met and right)

    def __bool__(self) -> NoReturn:
        raise TypeError("whether a wait was met may be unknown: hand it to held_if or premise, or look at its outcome")

    def __str__(self) -> str:
        return say(self._met) if self.outcome is not None else f"not known: the kit woke {self.late:.1f} s late"


class Waiting:
    """Waits on one cluster's clock. A stored tape has the number of tries, so that replay does not wait."""

    def __init__(self, tape: Tape, cluster: Cluster | None) -> None:
        self._tape = tape
        self._cluster = cluster

    def comes_true(self, probe: Callable[[], bool], what: str, within: float) -> Settled:
        """Return whether `probe` becomes true in time. For conditions that a requirement demands: failure is a finding,
        not an error of the kit."""
        if self._cluster is None:
            # The calls of each try are on the tape as well, and their answers have to be taken from it.
            found = self._tape.call("kit", "settles", {"what": what}, Settled, lambda: Settled(0, False))
            for _ in range(found.tries):
                probe()
            return found
        found = _try_until(self._cluster, probe, what, within)
        if found.outcome is not True:
            self.note_host(found.late)
        return self._tape.call("kit", "settles", {"what": what}, Settled, lambda: found)

    def end_of_wait(self, met: bool, within: float, lasted: float = 0.0) -> Settled:
        """Return the end of a wait made by a rig or check itself, which `lasted` longer than its bound, if at all."""
        return Settled(1, met, within, 0.0 if met else self.recorded_late(max(within, lasted)))

    def note_host(self, late: float) -> None:
        """Record how late the kit woke, and the percentage of the last ten seconds in which some task on the host
        waited for CPU: containers may lack CPU while the kit does not."""
        if self._cluster is not None:
            self._tape.note(HOST, {"late": late, "cpu pressure": self._cluster.cpu_pressure()})

    def slept_since(self, event: int) -> float:
        """Return the seconds by which the kit woke late since an event if they show that the host slept; else 0.

        They are recorded in a note, from which a stored tape repeats them: the note after the newest answer.
        """
        events = self._tape.history.events
        if self._cluster is not None:
            late = self.seconds_late(events[-1].t - events[event].t)
            if late >= SLEPT:
                self._tape.note(SLEPT_SINCE, {"since": event, "late": late})
        noted = takewhile(lambda one: not isinstance(one, Call), events[self._tape.newest_answer() + 1 :])
        found = (one.data for one in noted if isinstance(one, Note) and one.text == SLEPT_SINCE)
        return next((float(data["late"]) for data in found if data["since"] == event), 0.0)

    def overdue(self, due: Due, what: str, within: float) -> Overdue:
        """Return the error for a rig's own wait in vain for what is `due`."""
        return Overdue(f"{what} within {within:g} s", due=due, within=within, late=self.seconds_late(within))

    def seconds_late(self, within: float) -> float:
        """Return the kit's own worst delay in waking in the last `within` seconds; 0 on a stored tape."""
        return 0.0 if self._cluster is None else self._cluster.seconds_late(self._cluster.now().seconds - within)

    def recorded_late(self, within: float) -> float:
        """Return `seconds_late` and record it on the tape, for a check that asks once a bound has passed."""
        return self._tape.call("kit", "late", {}, Late, lambda: Late(self.seconds_late(within))).seconds


@contextmanager
def events_of_wait(tape: Tape) -> Iterator[None]:
    """Give an Overdue raised within the block the tape's events of that time, unless an inner wait did."""
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
        cluster.eventually(try_once, what, within, EVERY, "step")
    except Overdue as overdue:
        return Settled(tries, False, within, overdue.late)
    return Settled(tries, True)
