"""A run's time, planned before it begins: how long each check may take, and until when it may begin.

Work comes first: a profile without a clock (smoke) does all its work. With a clock each probe and schedule gets its
floors, each part of a machine a reserve that nothing else may use, and the machines and the rarest cases share the
remaining time.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from conformance.core.checks import Check
from conformance.core.machines import MachineCheck
from conformance.core.profiles import MINUTES, Profile
from conformance.core.registry import AnyCheck
from conformance.running.planning.costs import shipped_costs, version_in

Kind = Literal["probe", "schedule", "soak", "opening", "machine", "rarest"]

SEARCH = "rarest_cases"
"""The name of the items in which workers spend the time that is left on the rarest cases."""

PARTS: dict[Profile, int] = {"smoke": 1, "quick": 3, "nightly": 3}
"""The parts of a machine, each run by its own worker on its own cluster, since one worker would not use the time."""
WHOLE_PARTS: dict[Profile, int] = {"smoke": 1, "quick": 1, "nightly": 4}
"""The parts of a machine in a run of a whole profile: its opening, which is work like any other, and parts that draw examples
in the time that is left. Quick has none: its search for the rarest cases uses that time."""

SHRINKING: dict[Profile, float] = {"smoke": 60.0, "quick": 300.0, "nightly": 1_200.0}
"""Seconds in which a part of a machine shrinks and replays its findings' schedules."""
INPUT_SHRINKING: dict[Profile, float] = {"smoke": 5.0, "quick": 20.0, "nightly": 60.0}
"""Seconds in which a probe shrinks and replays the inputs of each breach."""
EXPLORING = 0.75
"""The share of a machine's time under a clock for exploring; the rest is for shrinking and replays."""

COSTS: dict[Kind, float] = {
    "probe": 5.0,
    "schedule": 43.0,
    "soak": 720.0,
    "opening": 60.0,
    "machine": 120.0,
    "rarest": 0.0,
}
"""Seconds in which a check that was never measured meets its floors, those of its kind on 3.9.2 and 4.3.1 on two cores.

A probe on a one-node cluster takes half its cost. A machine's cost is that of its opening and what follows from it.
That of a soak of ten minutes includes boot, last round and rest.
"""
PATIENCE: dict[Kind, float] = {
    "probe": 180.0,
    "schedule": 300.0,
    "soak": 900.0,
    "opening": 300.0,
    "machine": 0.0,
    "rarest": 0.0,
}
"""Seconds after which one probe, schedule or soak is cut off under a clock.

They are several times what the slowest takes on a busy host, so that a broken broker takes no more from the other
checks. A soak ends by itself.
"""
PATIENCE_FACTOR = 3.0
"""A check that is known to be slow is not cut off before this many times its seconds."""
RESERVE: dict[Profile, float] = {"smoke": 0.0, "quick": 120.0, "nightly": 300.0}
"""Seconds reserved for each part of a machine: its opening, and some drawn examples."""
MAX_RESERVED_SHARE = 1 / 3
"""The largest share of the run's time reserved for all machines together."""
SEARCH_SHARE = 1 / 3
"""The share, for the search for the rarest cases, of the time left when machines begin, if that search is among the
items."""


def kind_of(check: AnyCheck, *, opens: bool = False) -> Kind:
    """Return the kind of a check, as the plan distinguishes them. A part of a machine that only `opens` is work, not endless."""
    if isinstance(check, MachineCheck):
        return "opening" if opens else "machine"
    if check.lasts:
        return "soak"
    return "schedule" if check.schedule else "probe"


def cost_of(check: AnyCheck, label: str = "") -> float:
    """Return the seconds that a check takes on a column to meet all its floors, by default on the newest version; for a
    machine, those of its opening. A check that was never measured is estimated."""
    known = shipped_costs().seconds(check.id, version_in(label))
    return estimate_of(check) if known is None else known


def is_measured(check: AnyCheck) -> bool:
    """True if the seconds of a check are known, and no estimate."""
    return shipped_costs().seconds(check.id) is not None


def estimate_of(check: AnyCheck) -> float:
    """Return the estimated seconds of a check, by its kind and cluster."""
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
    """One item's time: what is left `until` the end, divided by `rounds`, and at most `seconds`.

    Items without an end of their own run in rounds, with one item per worker; `rounds` counts this item's round and
    later ones. The search for the rarest cases follows them, and takes as long as `search` rounds without their
    `reserved` seconds. An item that `needs` more seconds than are left gets none.
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
        """Return an item's share. An unplanned one (a replay) has all the time."""
        return self.shares.get(work, Share())


def total_seconds(profile: Profile, minutes: float, items: Sequence[Work]) -> float:
    """Return the seconds of a run; 0 without a clock. `minutes` is the time per column, 0 for the profile's. Columns share the
    cores, so their times add up."""
    return 60 * (minutes or MINUTES[profile]) * len({work.label for work in items})


def is_work(work: Work) -> bool:
    """True if the item ends by itself within seconds or minutes, and is done in any case."""
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
    """Return the seconds after which an item is cut off: more than a slow check is known to take."""
    known = shipped_costs().seconds(work.check, version_in(work.label)) or 0.0
    return max(PATIENCE[work.kind], PATIENCE_FACTOR * known)


def _reserved_seconds(profile: Profile, parts: int, total: float, workers: int) -> float:
    """Return the seconds at the run's end in which no probe, schedule or soak runs."""
    return min(RESERVE[profile] * math.ceil(parts / workers), MAX_RESERVED_SHARE * total) if parts else 0.0


def _unbounded_shares(items: Sequence[Work], total: float, workers: int, reserved: float) -> dict[Work, Share]:
    """Return the shares of machines, which run in rounds, and of the later search for the rarest cases."""
    parts = [work for work in items if work.kind == "machine"]
    searches = [work for work in items if work.kind == "rarest"]
    rounds = math.ceil(len(parts) / workers)
    search = rounds * SEARCH_SHARE / (1 - SEARCH_SHARE) if searches else 0.0
    machines = {
        work: Share(until=total, rounds=rounds - n // workers, search=search, reserved=reserved / rounds)
        for n, work in enumerate(parts)
    }
    return {**machines, **{work: Share(until=total) for work in searches}}
