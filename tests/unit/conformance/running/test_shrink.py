"""Delta debugging: the shortest schedule that still shows it, faults first, in few runs and within its time."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.running.machine.shrink import CutShort, Reproduction, Shrinker


class Step(msgspec.Struct, frozen=True):
    name: int
    disturbs: bool = False
    size: int = 0


steps = st.builds(Step, name=st.integers(0, 9), disturbs=st.booleans())
schedules = st.lists(steps, min_size=1, max_size=16)
Show = Callable[[list[Step]], int | None]
"""After how many steps of a schedule the bug shows, if it does."""


def showing(needed: list[Step]) -> Show:
    """The bug shows when these steps have been taken in their order."""

    def show(schedule: list[Step]) -> int | None:
        rest = list(needed)
        for after, step in enumerate(schedule, start=1):
            if rest and (step.name, step.disturbs) == (rest[0].name, rest[0].disturbs):
                rest.pop(0)
            if not rest:
                return after
        return None

    return show


class Cluster:
    """Runs schedules that cost time; a bug shows up in only some of the runs in which it could."""

    BUDGET = 300.0

    def __init__(self, show: Show, shows_up: float = 1.0, seed: int = 0, at_rest: bool = False) -> None:
        self.tried: list[list[Step]] = []
        self.seconds = 0.0
        self._show = show
        self._shows_up = shows_up
        self._random = random.Random(seed)
        self._at_rest = at_rest

    def play(self, schedule: list[Step]) -> Reproduction | None:
        self.tried.append(schedule)
        after = self._show(schedule)
        seen = after is not None and self._random.random() < self._shows_up
        ran = schedule[:after] if seen and not self._at_rest else schedule
        self.seconds += 2.0 + sum(4.0 if step.disturbs else 0.2 for step in ran)
        if not seen or after is None:
            return None
        return Reproduction(len(schedule), at_rest=True) if self._at_rest else Reproduction(after)

    def left(self) -> float:
        return 1 - self.seconds / self.BUDGET

    def shrinker(self, schedule: list[Step]) -> Shrinker[Step]:
        after = self._show(schedule)
        assert after is not None
        first = Reproduction(len(schedule), at_rest=True) if self._at_rest else Reproduction(after)
        return Shrinker(schedule, first, self.play, self.left)


class Unhurried(Cluster):
    BUDGET = 1e9


@given(schedule=schedules, data=st.data(), at_rest=st.booleans())
def test_what_is_needed_is_what_is_left(schedule: list[Step], data: st.DataObject, at_rest: bool) -> None:
    places = data.draw(st.sets(st.integers(0, len(schedule) - 1), min_size=1))
    needed = [schedule[place] for place in sorted(places)]
    cluster = Unhurried(showing(needed), at_rest=at_rest)
    assert cluster.shrinker(schedule).shrink(good_enough=0) == needed


@given(schedule=schedules, data=st.data())
def test_no_single_step_can_go_whatever_the_failure_depends_on(schedule: list[Step], data: st.DataObject) -> None:
    """Also where one step needs another one only while it is there itself."""
    core = schedule[data.draw(st.integers(0, len(schedule) - 1))]
    partners = data.draw(st.dictionaries(st.sampled_from(schedule), st.sampled_from(schedule), max_size=4))

    def show(candidate: list[Step]) -> int | None:
        there = core in candidate and all(partners[step] in candidate for step in candidate if step in partners)
        return len(candidate) if there else None

    if show(schedule) is not None:
        shortest = Unhurried(show, at_rest=True).shrinker(schedule).shrink(good_enough=0)
        assert show(shortest) is not None
        assert not any(show(shortest[:n] + shortest[n + 1 :]) for n in range(len(shortest)))


@given(schedule=schedules)
def test_a_failure_that_does_not_come_again_leaves_the_schedule_alone(schedule: list[Step]) -> None:
    cluster = Unhurried(lambda candidate: len(candidate), shows_up=0.0)
    assert cluster.shrinker(schedule).shrink() == schedule


def test_the_step_at_which_it_showed_is_the_last() -> None:
    schedule = [Step(n) for n in range(30)]
    cluster = Unhurried(showing([Step(7)]))
    assert cluster.shrinker(schedule).shrink() == [Step(7)]
    assert max(map(len, cluster.tried)) <= 8


def test_faults_go_before_operations() -> None:
    schedule = [Step(n, disturbs=n % 3 == 0) for n in range(30)]
    cluster = Unhurried(showing([Step(28)]))
    cluster.shrinker(schedule).shrink()
    assert not any(step.disturbs for step in cluster.tried[0])
    assert len(cluster.tried[0]) > 10


def test_what_was_told_to_be_enough_is_tried_first() -> None:
    schedule = [Step(n) for n in range(30)]
    cluster = Unhurried(showing([Step(4), Step(20)]))
    shrinker = cluster.shrinker(schedule)
    assert shrinker.shrink(keeping=[{1, 2}, {4, 20, 25}]) == [Step(4), Step(20)]
    assert [[step.name for step in tried] for tried in cluster.tried[:3]] == [[1, 2], [1, 2], [4, 20]]


def test_no_schedule_is_run_again_once_it_is_decided() -> None:
    """Also not where the same step stands at two places."""
    schedule = [Step(1), Step(1), Step(1), Step(2)]
    cluster = Unhurried(showing([Step(1), Step(1), Step(2)]))
    assert cluster.shrinker(schedule).shrink(good_enough=0) == [Step(1), Step(1), Step(2)]
    assert all(cluster.tried.count(one) <= 2 for one in cluster.tried)


def smaller(step: Step) -> list[Step]:
    return [msgspec.structs.replace(step, size=size) for size in sorted({1, step.size // 2}) if size < step.size]


def test_the_steps_left_become_simpler() -> None:
    schedule = [Step(1, size=9), Step(2, size=8)]
    anything = Unhurried(lambda candidate: 2 if len(candidate) == 2 else None)
    assert anything.shrinker(schedule).shrink(simpler=smaller) == [Step(1, size=1), Step(2, size=1)]
    assert len(anything.tried) == 4  # twice without the first step, and twice all simpler

    def show(candidate: list[Step]) -> int | None:
        return 2 if len(candidate) == 2 and candidate[0].size >= 4 else None

    assert Unhurried(show).shrinker(schedule).shrink(simpler=smaller) == [Step(1, size=4), Step(2, size=1)]


@settings(deadline=None)
@given(schedule=schedules, budget=st.floats(0.0, 60.0))
def test_the_time_is_kept(schedule: list[Step], budget: float) -> None:
    """When it is over, only the result is seen once more or twice."""
    cluster = Cluster(showing(schedule[-1:]))
    cluster.BUDGET = max(budget, 0.1)
    shortest = cluster.shrinker(schedule).shrink()
    late = [n for n in range(len(cluster.tried)) if _spent(cluster.tried[:n]) > cluster.BUDGET]
    assert len(late) <= 2
    assert shortest in [*cluster.tried[-1:], schedule[: cluster._show(schedule)]]


def _spent(tried: list[list[Step]]) -> float:
    return sum(2.0 + sum(4.0 if step.disturbs else 0.2 for step in one) for one in tried)


def test_a_run_of_luck_is_not_handed_back() -> None:
    """One run of a schedule that hardly ever shows it; what is handed back shows it more often than not."""
    schedule = [Step(n) for n in range(8)]
    lucky = iter([True, *[False] * 100])

    def show(candidate: list[Step]) -> int | None:
        if len(candidate) == 8:
            return 8
        return len(candidate) if next(lucky) else None

    assert Unhurried(show).shrinker(schedule[:8]).shrink() == schedule


# --- how many runs


class Bug(msgspec.Struct):
    """Thirty random steps, a third of them faults; which of them are needed, and which are about the same partition."""

    schedule: list[Step]
    needed: list[int]
    about: set[int]

    @property
    def operations(self) -> set[int]:
        """The numbers of the events that show an observation."""
        return {place for place in self.needed if not self.schedule[place].disturbs}

    @property
    def faults(self) -> set[int]:
        return {place for place in self.about if self.schedule[place].disturbs}


def planted(seed: int, count: int, partitions: int = 3) -> Bug:
    drawn = random.Random(seed)
    schedule = [Step(n, disturbs=drawn.random() < 1 / 3, size=drawn.randrange(5)) for n in range(30)]
    about = [n for n in range(30) if drawn.randrange(partitions) == 0]
    return Bug(schedule, sorted(drawn.sample(about, min(count, len(about)))), set(about))


Hints = Callable[[Bug], list[set[int]]]


class Shrunk(msgspec.Struct):
    length: int
    runs: int
    seconds: float


def shrunk(bug: Bug, seed: int, hints: Hints) -> Shrunk:
    cluster = Cluster(showing([bug.schedule[n] for n in bug.needed]), shows_up=0.8, seed=seed)
    shortest = cluster.shrinker(bug.schedule).shrink(keeping=hints(bug), simpler=smaller)
    return Shrunk(len(shortest), len(cluster.tried), cluster.seconds)


def all_shrunk(partitions: int, hints: Hints) -> list[Shrunk]:
    """Two to four steps are needed, and the bug shows up in four of five runs."""
    return [shrunk(planted(seed, n, partitions), seed, hints) for seed in range(100) for n in (2, 3, 4)]


HINTS: dict[str, Hints] = {
    "the partition": lambda bug: [bug.about],
    "the events": lambda bug: [bug.operations, bug.operations | bug.faults, bug.about],
}


@pytest.mark.parametrize("known", HINTS)
def test_thirty_steps_become_few_in_few_runs(known: str) -> None:
    """A run takes 2 to 40 seconds, as on live clusters; there are five minutes."""
    found = all_shrunk(3, HINTS[known])
    assert statistics.median(one.runs for one in found) <= 20
    assert statistics.median(one.length for one in found) <= 4
    assert sum(one.length <= 6 for one in found) >= 0.9 * len(found)
    assert max(one.seconds for one in found) <= 1.5 * Cluster.BUDGET


def test_without_a_hint_it_takes_longer() -> None:
    found = all_shrunk(1, lambda bug: [])
    assert statistics.median(one.runs for one in found) <= 20
    assert statistics.median(one.length for one in found) <= 6


@pytest.mark.parametrize("runs", [0, 1, 2, 3])
def test_a_run_that_the_clock_cut_short_ends_shrinking_and_refutes_nothing(runs: int) -> None:
    """The shortest that was shown once is kept then."""

    class Hurried(Unhurried):
        def play(self, schedule: list[Step]) -> Reproduction | None:
            if len(self.tried) == runs:
                raise CutShort
            return super().play(schedule)

    schedule = [Step(name=n) for n in range(8)]
    cluster = Hurried(showing([Step(name=3)]))
    found = cluster.shrinker(schedule).shrink(keeping=[{1, 2, 3}, {3}])
    assert [step.name for step in found] == [[0, 1, 2, 3], [1, 2, 3], [3], [3]][runs]
    assert len(cluster.tried) == runs
