"""The time plan of a run, made before it begins: how long each check may take, and how late it may begin.

Without a clock (smoke) all work is done. Under a clock each probe and schedule has time for its floors, and each part of a
machine has a reserve of its own. Machines and the search for the rarest cases share the remaining time.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from conformance.core.checks import Check
from conformance.core.machines import MachineCheck
from conformance.core.profiles import MINUTES, Profile, shipped_budgets
from conformance.core.registry import AnyCheck
from conformance.running.planning.costs import shipped_costs, version_in

Kind = Literal["probe", "schedule", "soak", "opening", "machine", "rarest"]

SEARCH = "rarest_cases"
"""The check name of the items in which workers spend their remaining time on the rarest cases."""

PARTS: dict[Profile, int] = {"smoke": 1, "quick": 3, "nightly": 3}
"""The parts of a machine, each run by its own worker on its own cluster, since one worker would not use the time."""
WHOLE_PARTS: dict[Profile, int] = {"smoke": 1, "quick": 1, "nightly": 4}
"""The parts of a machine in a run of a whole profile: its opening, and parts that draw examples in the remaining time. Quick has
only the opening, since its search for the rarest cases uses that time."""

SHRINKING: dict[Profile, float] = {"smoke": 60.0, "quick": 300.0, "nightly": 1_200.0}
"""Seconds in which a part of a machine shrinks and replays its findings' schedules."""
INPUT_SHRINKING: dict[Profile, float] = {"smoke": 5.0, "quick": 20.0, "nightly": 60.0}
"""Seconds that a probe may spend on shrinking and replaying the inputs of each breach."""
EXPLORING = 0.75
"""The share of a machine's time under a clock that is for exploring; the rest is for shrinking and replays."""

COSTS: dict[Kind, float] = {
    "probe": 5.0,
    "schedule": 43.0,
    "soak": 720.0,
    "opening": 60.0,
    "machine": 120.0,
    "rarest": 0.0,
}
"""Estimated seconds until an unmeasured check reaches its floors: typical values of its kind on 3.9.2 and 4.3.1 with two cores.

A probe on a one-node cluster costs half. For a machine only its opening counts. The cost of a ten-minute soak includes boot, last
round and rest.
"""
PATIENCE: dict[Kind, float] = {
    "probe": 180.0,
    "schedule": 300.0,
    "soak": 900.0,
    "opening": 300.0,
    "machine": 0.0,
    "rarest": 0.0,
}
"""Seconds after which a probe, schedule or soak is cut off under a clock.

They are several times what the slowest check of a kind takes on a busy host, so that a broken broker takes no more time from the
other checks. A soak ends by itself.
"""
PATIENCE_FACTOR = 3.0
"""A check is not cut off before it has taken this many times its measured seconds."""
RESERVE: dict[Profile, float] = {"smoke": 0.0, "quick": 120.0, "nightly": 300.0}
"""Seconds reserved for each part of a machine: enough for its opening and some drawn examples."""
OVERLAP = 0.9
"""The share of twice its minutes that half of a budget's workers need: columns side by side use each other's waits."""
MAX_RESERVED_SHARE = 1 / 3
"""The largest share of the run's time reserved for all machines together."""
SEARCH_SHARE = 1 / 3
"""The share of the time left when the machines begin that goes to the search for the rarest cases, if the run has one."""


def kind_of(check: AnyCheck, *, opens: bool = False) -> Kind:
    """Return the kind of a check for the plan. A part of a machine that only `opens` counts as work that ends by itself."""
    if isinstance(check, MachineCheck):
        return "opening" if opens else "machine"
    if check.lasts:
        return "soak"
    return "schedule" if check.schedule else "probe"


def cost_of(check: AnyCheck, label: str = "") -> float:
    """Return the seconds in which a check reaches all its floors on a column, by default on the newest version. For a machine
    only the opening counts. An unmeasured check is estimated."""
    known = shipped_costs().seconds(check.id, version_in(label))
    return estimate_of(check) if known is None else known


def is_measured(check: AnyCheck) -> bool:
    """True if the seconds of a check were measured, not estimated."""
    return shipped_costs().seconds(check.id) is not None


def estimate_of(check: AnyCheck) -> float:
    """Return the estimated seconds of a check, from its kind and cluster."""
    if isinstance(check, Check) and not check.schedule and len(check.topology.members()) == 1:
        return COSTS["probe"] / 2
    return COSTS[kind_of(check)]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a run: a check or part of a machine on a column, or a worker's search for the rarest cases."""

    check: str
    label: str
    kind: Kind
    part: int = 1


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The time of one item: the seconds left before `until`, divided by `rounds`, but at most `seconds`.

    Items that never end by themselves run in rounds, one item per worker; `rounds` counts the item's own round and all later
    ones. The search for the rarest cases comes after them and takes as long as `search` rounds, not counting their `reserved`
    seconds. An item that `needs` more seconds than are left gets none.
    """

    seconds: float = math.inf
    needs: float = 0.0
    until: float = math.inf
    rounds: int = 1
    search: float = 0.0
    reserved: float = 0.0

    def allowance(self, elapsed: float) -> float:
        """Return the seconds for an item that begins `elapsed` seconds into the run; 0 if it is too late."""
        left = max(0.0, self.until - elapsed)
        if left < self.needs:
            return 0.0
        return min(self.seconds, max(left / (self.rounds + self.search), min(left / self.rounds, self.reserved)))


class TimePlan(msgspec.Struct, frozen=True):
    """The shares of all items of a run. A `total` of 0 seconds means that there is no clock."""

    total: float
    shares: dict[Work, Share]

    def share(self, work: Work) -> Share:
        """Return an item's share. An item that was not planned (a replay) has all the time."""
        return self.shares.get(work, Share())


def total_seconds(profile: Profile, minutes: float, items: Sequence[Work]) -> float:
    """Return the seconds of a run; 0 without a clock. `minutes` is the time per column, 0 for the profile's default. Columns
    share the cores, so their times add up."""
    return 60 * (minutes or MINUTES[profile]) * len({work.label for work in items})


def whole_minutes(profile: Profile, workers: int) -> float:
    """Return the minutes of a column in a whole profile on this many workers; 0 without a clock.

    A profile's own minutes are for the workers of its budget. Fewer get more time, such as those of columns side by side.
    """
    budgets = shipped_budgets()
    missing = OVERLAP * budgets.workers / workers if profile in budgets.profiles else 1.0
    return MINUTES[profile] * max(1.0, missing)


def is_work(work: Work) -> bool:
    """True if the item ends by itself within seconds or minutes, and is always run."""
    return work.kind in ("probe", "schedule", "opening")


def plan_time(profile: Profile, minutes: float, items: Sequence[Work], workers: int) -> TimePlan:
    """Plan the time of `items`, in the order in which they begin, for parallel `workers`."""
    total = total_seconds(profile, minutes, items)
    if not total:
        return TimePlan(0.0, {work: Share() for work in items})
    machines = [work for work in items if work.kind == "machine"]
    reserved = _reserved_seconds(profile, len(machines), total, workers)
    bounded = {
        work: Share(seconds=_patience(work), until=total - reserved, needs=COSTS["soak"] * (work.kind == "soak"))
        for work in items
        if work.kind in ("probe", "schedule", "soak", "opening")
    }
    return TimePlan(total, {**bounded, **_unbounded_shares(items, total, workers, reserved)})


def _patience(work: Work) -> float:
    """Return the seconds after which an item is cut off, longer for a check that is known to be slow."""
    known = shipped_costs().seconds(work.check, version_in(work.label)) or 0.0
    return max(PATIENCE[work.kind], PATIENCE_FACTOR * known)


def _reserved_seconds(profile: Profile, parts: int, total: float, workers: int) -> float:
    """Return the seconds at the end of the run that are reserved for machines and the search."""
    return min(RESERVE[profile] * math.ceil(parts / workers), MAX_RESERVED_SHARE * total) if parts else 0.0


def _unbounded_shares(items: Sequence[Work], total: float, workers: int, reserved: float) -> dict[Work, Share]:
    """Return the shares of the machines, which run in rounds, and of the search for the rarest cases after them."""
    parts = [work for work in items if work.kind == "machine"]
    searches = [work for work in items if work.kind == "rarest"]
    rounds = math.ceil(len(parts) / workers)
    search = rounds * SEARCH_SHARE / (1 - SEARCH_SHARE) if searches else 0.0
    machines = {
        work: Share(until=total, rounds=rounds - n // workers, search=search, reserved=reserved / rounds)
        for n, work in enumerate(parts)
    }
    return {**machines, **{work: Share(until=total) for work in searches}}
