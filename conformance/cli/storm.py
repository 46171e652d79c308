"""Random faults, one after the other, on one cluster under light traffic. Each is witnessed, has its consequence, and is healed.

The faults depend on the seed alone; one that is not available is shown with the reason and does not count.
"""

import math
import random
import statistics
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from conformance.running.probe.run import draw_inputs
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Injected, Injector, Unhealed, Unwitnessed
from fixtures.faults.base.overlaps import clash, pairs_of
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.plans import Calm, Overlap, Plan, Single, Skipped, run
from fixtures.faults.selftest import Targets, stage_role
from fixtures.faults.traffic import Writer
from fixtures.runs import Progress
from fixtures.waiting import eventually
from protocol.errors import KitError
from strategies.faults import faults_of

Ending = Literal["healed", "skipped", "unwitnessed", "no consequence", "unhealed", "error"]

POOL = 30
"""The number of draws of each kind from which random ones are chosen, since Hypothesis begins with the simplest."""
HEALTHY_TIMEOUT = 60.0
"""Seconds in which a cluster must become healthy after an error; otherwise it is replaced."""


def draw_faults(seed: int, kinds: Sequence[type[Fault]] = FAULTS) -> Iterator[Fault]:
    """Draw faults without end: each round has every kind once, in random order and with random parameters."""
    dice = random.Random(seed)
    pools = {kind: _fault_pool(kind, seed) for kind in kinds}
    while True:
        for kind in dice.sample(list(kinds), len(kinds)):
            yield dice.choice(pools[kind]).fresh()


def draw_plans(seed: int, kinds: Sequence[type[Fault]] = FAULTS, *, at_once: int = 1) -> Iterator[Plan]:
    """Draw plans of one fault, or of several whose kinds may overlap; the first of these is healed first or last."""
    if at_once == 1:
        yield from (Single(fault=fault) for fault in draw_faults(seed, kinds))
    together = pairs_of(kinds)
    if not together:
        reasons = {clash(one, other) for one in kinds for other in kinds}
        raise KitError(f"no two of these faults may overlap: {'; '.join(sorted(reasons))}")
    dice = random.Random(seed)
    pools = {kind: _fault_pool(kind, seed) for _, kind in together}
    firsts = draw_faults(seed, list(dict.fromkeys(first for first, _ in together)))
    while True:
        first = next(firsts)
        beside = [other for one, other in together if one is type(first)]
        second, *further = (dice.choice(pools[dice.choice(beside)]).fresh() for _ in range(at_once - 1))
        yield Overlap(first=first, second=second, further=tuple(further), first_heals_first=dice.random() < 0.5)


def _fault_pool(kind: type[Fault], seed: int) -> list[Fault]:
    number = zlib.crc32(f"storm {kind.__struct_config__.tag} {seed}".encode())
    return [values["fault"] for values in draw_inputs({"fault": faults_of(kind)}, number, POOL)]


class Cycle(msgspec.Struct, kw_only=True):
    """One fault of the storm. `reason` explains any ending except healed; `replaced` is why the cluster was replaced."""

    fault: str
    role: str
    ending: Ending
    injected: Injected | None = None
    reason: str = ""
    replaced: str = ""


class TrafficTotal(msgspec.Struct, kw_only=True):
    """The writers' totals over all clusters; `longest_gap` and `seconds` are in seconds."""

    acknowledged: int = 0
    unacknowledged: int = 0
    longest_gap: float = 0.0
    seconds: float = 0.0
    trouble: list[str] = []


class Storm:
    """The plans that run on the targets' cluster; `cycles` are the results. Logs of replaced clusters are kept in the folder
    `kept`."""

    def __init__(
        self, targets: Targets, progress: Progress, kept: Path, traffic: Callable[[FaultTarget], Writer] = Writer
    ) -> None:
        self.cycles: list[Cycle] = []
        self._kept = kept
        self.seconds = 0.0
        self.traffic = TrafficTotal(trouble=[])
        self._progress = progress
        self._targets = targets
        self._new_writer = traffic
        self._writer: Writer | None = None

    def run(self, plans: Iterator[Plan], count: int, minutes: float = math.inf) -> None:
        """Run plans until `count` cycles count, or the minutes are over.

        Raises KitError if too many consecutive plans were unavailable.
        """
        began = time.monotonic()
        skipped = 0
        try:
            while self.cycle_count < count and time.monotonic() - began < 60 * minutes:
                cycles = self._cycles_of(next(plans))
                for cycle in cycles:
                    self.cycles.append(cycle)
                    self._progress(self._line(cycle, count))
                skipped = skipped + 1 if all(cycle.ending == "skipped" for cycle in cycles) else 0
                if skipped > 2 * len(FAULTS):
                    raise KitError(f"{skipped} plans in a row were not available, the last one: {cycles[-1].reason}")
        finally:
            self.seconds += time.monotonic() - began
            self._end_traffic()
            self._targets.close()

    @property
    def cycle_count(self) -> int:
        """The number of cycles that count: those not skipped."""
        return sum(cycle.ending != "skipped" for cycle in self.cycles)

    def _cycles_of(self, plan: Plan) -> list[Cycle]:
        target = self._targets.target()
        if self._writer is None:
            self._writer = self._new_writer(target).start()
        cycles = attempt_plan(Injector(target), plan)
        endings = {cycle.ending for cycle in cycles}
        if "unhealed" in endings:
            cycles[-1].replaced = self._replace("a fault did not heal.")
        elif not endings <= {"healed", "skipped"}:
            cycles[-1].replaced = self._give_up()
        return cycles

    def _give_up(self) -> str:
        """Wait until the cluster is healthy after an error, or replace it; return why it was replaced."""
        target = self._targets.target()
        try:
            eventually(
                lambda: not target.why_unhealthy(),
                within=HEALTHY_TIMEOUT,
                what="whole after trouble",
                state=target.states,
            )
        except KitError as reason:
            return self._replace(str(reason))
        return ""

    def _replace(self, reason: str) -> str:
        self._end_traffic()
        self._keep_logs()
        self._targets.replace()
        return reason

    def _keep_logs(self) -> None:
        self._kept.mkdir(parents=True, exist_ok=True)
        for name, text in self._targets.logs().items():
            (self._kept / f"{self.cycle_count + 1}-{name}.log").write_text(text)

    def _end_traffic(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.stop()
        except Exception as trouble:  # reported at the end: the faults were witnessed and healed all the same
            self.traffic.trouble.append(f"{type(trouble).__name__}: {trouble}")
        self.traffic.seconds += writer.seconds
        self.traffic.acknowledged += writer.acknowledged
        self.traffic.unacknowledged += writer.unacknowledged
        self.traffic.longest_gap = max(self.traffic.longest_gap, writer.longest_gap)

    def _line(self, cycle: Cycle, count: int) -> str:
        text = f"{self.cycle_count}/{count} {cycle.fault} of the {cycle.role}: {cycle.ending}"
        if cycle.injected is not None and cycle.ending == "healed":
            text += f", shown in {_seconds_to_show(cycle.injected):.1f} s, whole in {cycle.injected.heal_seconds:.1f} s"
        if cycle.ending == "skipped":
            text += f" ({_first_line(cycle.reason)})"
        elif cycle.reason:
            # The nodes' logs come last, and are too long for a terminal.
            text += "\n    ".join(["", *cycle.reason.partition("\n---")[0].splitlines()])
        return text + (f"\n    THE CLUSTER IS REPLACED: {_first_line(cycle.replaced)}" if cycle.replaced else "")


def attempt_plan(injector: Injector, plan: Plan) -> list[Cycle]:
    """Run a plan and return its cycles. An error is recorded in the last one, never raised."""
    cycles: list[Cycle] = []
    try:
        with stage_role(injector, plan.fault.role if isinstance(plan, Single) else ""):
            cycles.extend(_cycle_of_step(plan, step) for step in run(plan, injector) if not isinstance(step, Calm))
    except Unwitnessed as trouble:
        cycles.append(_cycle_in_trouble(plan, "unwitnessed", trouble))
    except Unhealed as trouble:
        cycles.append(_cycle_in_trouble(plan, "unhealed", trouble))
    except Exception as trouble:  # errors of the engine too: the storm continues, and reports them
        cycles.append(_cycle_in_trouble(plan, "error", trouble))
    return cycles


def _cycle_of_step(plan: Plan, step: Injected | Skipped) -> Cycle:
    if isinstance(step, Skipped):
        return Cycle(fault=step.fault, role=step.role, ending="skipped", reason=step.reason)
    if not step.met:
        reason = _insert_plan(plan, f"nothing followed within {step.consequence_seconds:.0f} s")
        return Cycle(fault=step.fault, role=step.role, ending="no consequence", injected=step, reason=reason)
    return Cycle(fault=step.fault, role=step.role, ending="healed", injected=step)


def _cycle_in_trouble(plan: Plan, ending: Ending, trouble: Exception) -> Cycle:
    faults = plan.faults if isinstance(plan, Overlap) else [plan.fault] if isinstance(plan, Single) else []
    return Cycle(
        fault=" beside ".join(fault.name for fault in faults),
        role=" beside ".join(fault.role for fault in faults),
        ending=ending,
        reason=_insert_plan(plan, f"{type(trouble).__name__}: {trouble}"),
    )


def _insert_plan(plan: Plan, text: str) -> str:
    """Return the text with the drawn plan after its first line; the nodes' states and logs follow."""
    first, _, states = text.partition("\n")
    return f"{first}\ndrawn: {msgspec.json.encode(plan).decode()}\n{states}"


# --- the summary


def is_success(storm: Storm) -> bool:
    """True if every injected fault was witnessed, followed by its consequence and healed, and the traffic ran to the end."""
    return all(cycle.ending in ("healed", "skipped") for cycle in storm.cycles) and not storm.traffic.trouble


def as_json(storm: Storm) -> dict[str, object]:
    """Return the summary's figures: every cycle in order, the writers' totals, and the seconds taken."""
    figures = {
        "succeeded": is_success(storm),
        "seconds": storm.seconds,
        "cycles": storm.cycles,
        "traffic": storm.traffic,
    }
    return {key: msgspec.to_builtins(value) for key, value in figures.items()}


def storm_summary(storm: Storm) -> list[str]:
    """Return the summary as text: the table, the reasons for skipped and failed cycles, and the totals."""
    lines = [
        "| fault | cycles | unwitnessed | no consequence | unhealed | error | skipped | to consequence | to heal |"
    ]
    lines += ["|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    by_fault: dict[str, list[Cycle]] = defaultdict(list)
    for cycle in storm.cycles:
        by_fault[cycle.fault].append(cycle)
    lines += [_fault_row(fault, cycles) for fault, cycles in sorted(by_fault.items())]
    return [*lines, "", *_reason_lines(storm.cycles), *_total_lines(storm)]


def _fault_row(fault: str, cycles: list[Cycle]) -> str:
    endings = Counter(cycle.ending for cycle in cycles)
    healed = [cycle.injected for cycle in cycles if cycle.injected is not None and cycle.ending == "healed"]
    counts = [
        len(cycles) - endings["skipped"],
        *(endings[e] for e in ("unwitnessed", "no consequence", "unhealed", "error", "skipped")),
    ]
    times = [
        _median_text([_seconds_to_show(one) for one in healed]),
        _median_text([one.heal_seconds for one in healed]),
    ]
    return f"| {fault} | " + " | ".join([*map(str, counts), *times]) + " |"


def _reason_lines(cycles: list[Cycle]) -> list[str]:
    counts = Counter((c.ending, c.fault, c.role, _first_line(c.reason)) for c in cycles if c.reason)
    return [f"{ending} ({n}): {fault} of the {role}: {why}" for (ending, fault, role, why), n in sorted(counts.items())]


def _total_lines(storm: Storm) -> list[str]:
    replaced = [cycle.replaced for cycle in storm.cycles if cycle.replaced]
    traffic = storm.traffic
    rate = traffic.acknowledged / traffic.seconds if traffic.seconds else 0.0
    return [
        f"{storm.cycle_count} cycles in {storm.seconds:.0f} s, boots included; {len(replaced)} clusters replaced",
        *[f"replaced: {_first_line(reason)}" for reason in replaced],
        f"traffic: {traffic.acknowledged} records acknowledged ({rate:.0f} a second), {traffic.unacknowledged} not, "
        f"longest gap {traffic.longest_gap:.1f} s",
        *[f"traffic ended early: {trouble}" for trouble in traffic.trouble],
    ]


def _seconds_to_show(injected: Injected) -> float:
    return injected.inject_seconds + injected.witness_seconds + injected.consequence_seconds


def _median_text(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s" if seconds else "-"


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0]
