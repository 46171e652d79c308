"""The forecast of a run: its items simulated on the workers by their costs, without a cluster."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

import msgspec

from conformance.core.registry import AnyCheck, every_check
from conformance.running.planning.budget import TimePlan, Work, cost_of, is_measured
from conformance.running.planning.costs import shipped_costs

HEAD = " begins    takes  worker  check"
"""The first line of a plan."""
BOOT = 10.0
"""Seconds that a worker needs to close its cluster and boot another."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item as the scheduler hands it out, with its unit of work and its cluster."""

    work: Work
    unit: str
    cluster: tuple[str, str]

    @property
    def check(self) -> AnyCheck:
        """The check of the item."""
        return every_check()[self.work.check]


class ScheduledItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item on a worker; `begins` is when it begins, in seconds into the run, and `seconds` how long it takes."""

    item: Item
    worker: int
    begins: float
    seconds: float


class PlannedItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a printed forecast: its worker, when it begins, and how long it takes, in seconds."""

    check: str
    part: int
    column: str
    topology: str
    worker: int
    begins: int
    seconds: int


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """A printed forecast: its items, the seconds until the last one ends, and the remarks on why these are estimates."""

    items: list[PlannedItem]
    seconds: int
    remarks: list[str]


def forecast(items: Sequence[Item], plan: TimePlan, workers: int) -> list[ScheduledItem]:
    """Return when and where each item begins. An item for which the clock leaves no time takes 0 seconds."""
    units: defaultdict[str, deque[Item]] = defaultdict(deque)
    for item in items:
        units[item.unit].append(item)
    waiting, clocks, clusters = deque(units.values()), [0.0] * workers, [("", "")] * workers
    turns: list[ScheduledItem] = []
    while waiting:
        worker = clocks.index(min(clocks))
        for item in waiting.popleft():
            clocks[worker] += BOOT * (item.cluster != clusters[worker])
            clusters[worker] = item.cluster
            seconds = _seconds_of(item, plan, clocks[worker])
            turns.append(ScheduledItem(item=item, worker=worker, begins=clocks[worker], seconds=seconds))
            clocks[worker] += seconds
    return sorted(turns, key=lambda turn: turn.begins)


def _seconds_of(item: Item, plan: TimePlan, begins: float) -> float:
    allowed = plan.share(item.work).allowance(begins)
    takes_all = item.work.kind == "machine" and plan.total
    return allowed if takes_all else min(allowed, cost_of(item.check, item.work.label))


def sum_lines(turns: Sequence[ScheduledItem], workers: int) -> Iterator[str]:
    """Yield how long the items take on this many workers, and why this is an estimate."""
    lasts = max((turn.begins + turn.seconds for turn in turns), default=0.0)
    seconds = sum(turn.seconds for turn in turns)
    yield f"items: {len(turns)}, {seconds:.0f} s of workers, about {minutes(lasts)} on {workers}"
    if late := sum(not turn.seconds and cost_of(turn.item.check, turn.item.work.label) > 0 for turn in turns):
        yield f"the clock leaves no time for {late} of them"
    if estimated := {turn.item.work.check for turn in turns if not is_measured(turn.item.check)}:
        yield f"never measured, and estimated by kind: {len(estimated)} of them"
    yield from shipped_costs().remarks(every_check())


def plan_lines(turns: Sequence[ScheduledItem]) -> Iterator[str]:
    """Yield a heading, and a line for each item in the order in which they begin."""
    yield HEAD
    for turn in turns:
        part = f" part {turn.item.work.part}" if turn.item.work.part > 1 else ""
        column = f"{turn.item.work.label}, {turn.item.cluster[1]}"
        yield f"{minutes(turn.begins):>7} {turn.seconds:6.0f} s  gw{turn.worker:<4}  {turn.item.work.check}{part}  ({column})"


def minutes(seconds: float) -> str:
    """Return seconds as minutes, such as 12:05."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02}"


_ITEM = re.compile(
    r" *(?P<minutes>\d+):(?P<begins>\d\d) +(?P<seconds>\d+) s +gw(?P<worker>\d+) +(?P<check>\S+)"
    r"( part (?P<part>\d+))? +\((?P<column>.*), (?P<topology>\S+)\)"
)
_SUM = re.compile(r"items: .* about (\d+):(\d\d) on \d+")


def read_forecast(lines: Sequence[str]) -> Forecast:
    """Parse a printed plan: its lines and its total."""
    items = [
        PlannedItem(
            check=found["check"],
            part=int(found["part"] or 1),
            column=found["column"],
            topology=found["topology"],
            worker=int(found["worker"]),
            begins=60 * int(found["minutes"]) + int(found["begins"]),
            seconds=int(found["seconds"]),
        )
        for line in lines
        if (found := _ITEM.fullmatch(line))
    ]
    sums = [n for n, line in enumerate(lines) if _SUM.fullmatch(line)]
    lasts = [60 * int(found[1]) + int(found[2]) for line in lines if (found := _SUM.fullmatch(line))]
    return Forecast(items=items, seconds=sum(lasts), remarks=[*lines[sums[-1] + 1 :]] if sums else [])
