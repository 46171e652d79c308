"""Shrinking a schedule by delta debugging on the cluster, with few runs, since each run waits for its faults.

One run that shows the violation is proof enough to go on with a shorter schedule; a run that does not show it is repeated. The
result showed the violation in most of its runs (two of two, or two of three; one of one if there was no time for more).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

MAJORITY = 2
"""The majority of three runs."""
CONFIRM_SHARE = 0.15
"""The share of the time that is reserved for confirming the result."""
SHORT_ENOUGH = 6
"""A number of steps that is short enough to read: a schedule this short gets no second round."""


class CutShort(Exception):
    """Time ran out before a run showed the violation, which says nothing about its schedule."""


class Reproduction(msgspec.Struct, frozen=True):
    """A run that showed the violation, after `after` steps or only at rest."""

    after: int
    at_rest: bool = False


class ShrinkableStep(Protocol):
    """A step as the shrinker sees it; faults are dropped first."""

    @property
    def disturbs(self) -> bool: ...


S = TypeVar("S", bound=ShrinkableStep)

Play: TypeAlias = Callable[[list[S]], Reproduction | None]
"""A function that runs a schedule once; None if it did not show the violation. Raises CutShort."""
Simpler: TypeAlias = Callable[[S], Sequence[S]]
"""A function that returns alternatives to a step, simplest first."""


class Shrinker(Generic[S]):
    """A search for a shorter schedule among the steps of `first`, which showed the violation once.

    `left` is the remaining share of its time, from 1 to 0. `report` receives each shorter schedule, and the number of runs so
    far.
    """

    def __init__(
        self,
        schedule: Sequence[S],
        first: Reproduction,
        play: Play[S],
        left: Callable[[], float],
        report: Callable[[list[S], int], None] = lambda schedule, runs: None,
    ) -> None:
        self.runs = 0
        self._is_over = False
        self._steps = list(schedule)
        self._play = play
        self._left = left
        self._report = report
        self._seen: dict[bytes, list[bool]] = defaultdict(list)
        self._at_rest = first.at_rest
        self._best = list(range(first.after))
        self._seen[_schedule_key(self._schedule(self._best))].append(True)
        self._ladder: list[list[S]] = [self._schedule(self._best)]

    def shrink(
        self,
        keeping: Sequence[Collection[int]] = (),
        simpler: Simpler[S] = lambda step: (),
        good_enough: int = SHORT_ENOUGH,
    ) -> list[S]:
        """Return a shorter schedule that still shows the violation. `keeping` are sets of places that are tried on their own
        first."""
        for places in keeping:
            self._drop_places([place for place in self._best if place not in places])
        self._rounds(good_enough)
        self._simplify(simpler)
        return self._shortest_confirmed()

    # --- dropping steps

    def _rounds(self, good_enough: int) -> None:
        """Drop steps in rounds, faults first, since they take the most time.

        Another round may drop a fault that was needed only by an operation dropped later.
        """
        before = -1
        while len(self._best) != before and self._has_time_left():
            before = len(self._best)
            self._drop(disturbing=True)
            self._drop(disturbing=False)
            if len(self._best) <= good_enough:
                break

    def _drop(self, disturbing: bool) -> None:
        """Drop the steps of one kind that the violation does not need, from the front."""
        needed: set[int] = set()
        while (open_ := self._droppable_places(disturbing, needed)) and self._has_time_left():
            if not self._drop_places(open_):
                needed.add(self._find_needed(open_))

    def _find_needed(self, places: Sequence[int]) -> int:
        """Find the first of these places that is needed, by bisection, and drop those before it. Not all of them can be
        dropped."""
        can, cannot = 0, len(places)
        while cannot - can > 1 and self._has_time_left():
            middle = (can + cannot) // 2
            if self._drop_places(places[:middle]):
                can = middle
            else:
                cannot = middle
        return places[can]

    def _droppable_places(self, disturbing: bool, needed: Collection[int]) -> list[int]:
        # A violation that the last step showed, and not the rest, needs that step.
        places = self._best if self._at_rest else self._best[:-1]
        return [place for place in places if place not in needed and self._steps[place].disturbs == disturbing]

    def _drop_places(self, places: Collection[int]) -> bool:
        gone = set(places)
        left = [place for place in self._best if place not in gone]
        if len(left) == len(self._best):
            return False
        shown = self._try(self._schedule(left))
        if shown is None:
            return False
        self._at_rest = shown.at_rest
        self._best = left[: shown.after]
        self._step_down(self._schedule(self._best))
        return True

    # --- simpler steps

    def _simplify(self, simpler: Simpler[S]) -> None:
        """Simplify all steps at once, or else one by one, each to its first alternative that still shows the violation."""
        simplest = [(place, others[0]) for place in self._best if (others := simpler(self._steps[place]))]
        if simplest and not self._apply_changes(simplest):
            for place, _ in simplest:
                self._simplify_one(place, simpler(self._steps[place]))

    def _simplify_one(self, place: int, others: Sequence[S]) -> bool:
        return place in self._best and any(self._apply_changes([(place, other)]) for other in others)

    def _apply_changes(self, changes: Sequence[tuple[int, S]]) -> bool:
        before = list(self._steps)
        for place, step in changes:
            self._steps[place] = step
        shown = self._try(self._schedule(self._best))
        if shown is None:
            self._steps = before
            return False
        self._best = self._best[: shown.after]
        self._step_down(self._schedule(self._best))
        return True

    # --- runs

    def _try(self, schedule: list[S]) -> Reproduction | None:
        """Run a schedule up to three times; return how it showed the violation in the first run or in two of three, else None."""
        seen = self._seen[_schedule_key(schedule)]
        if any(seen) and not _is_refuted(seen):
            return Reproduction(len(schedule), self._at_rest)
        while not _is_refuted(seen) and self._has_time_left():
            shown = self._run(schedule)
            if shown is not None and (seen.count(True) == MAJORITY or seen.count(False) == 0):
                return shown
        return None

    def _run(self, schedule: list[S]) -> Reproduction | None:
        self.runs += 1
        try:
            shown = self._play(schedule)
        except CutShort:
            self._is_over = True
            return None
        self._seen[_schedule_key(schedule)].append(shown is not None)
        if shown is not None and shown.after < len(schedule):
            self._seen[_schedule_key(schedule[: shown.after])].append(True)
        return shown

    def _has_time_left(self) -> bool:
        return not self._is_over and self._left() > CONFIRM_SHARE

    def _step_down(self, schedule: list[S]) -> None:
        self._ladder.append(schedule)
        self._report(schedule, self.runs)

    def _shortest_confirmed(self) -> list[S]:
        """Return the shortest schedule that showed the violation in most of its runs, or else the first schedule."""
        confirmed = (schedule for schedule in reversed(self._ladder[1:]) if self._is_confirmed(schedule))
        return next(confirmed, self._ladder[0])

    def _is_confirmed(self, schedule: list[S]) -> bool:
        seen = self._seen[_schedule_key(schedule)]
        while seen.count(True) < MAJORITY and not _is_refuted(seen) and self._may_confirm(schedule):
            self._run(schedule)
        return seen.count(True) >= MAJORITY > seen.count(False) or (self._is_over and False not in seen)

    def _may_confirm(self, schedule: list[S]) -> bool:
        """True for the shortest schedule, and for longer ones while there is time; never once the clock has ended a run."""
        return not self._is_over and (schedule is self._ladder[-1] or self._left() > 0)

    def _schedule(self, places: Sequence[int]) -> list[S]:
        return [self._steps[place] for place in places]


def _is_refuted(seen: Sequence[bool]) -> bool:
    return seen.count(False) >= MAJORITY


def _schedule_key(schedule: Sequence[S]) -> bytes:
    """Return a candidate's identity: equal schedules are the same candidate, whatever places their steps came from."""
    return msgspec.json.encode(schedule, order="sorted")
