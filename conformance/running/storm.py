"""Random fault cycles in a row on one cluster under light traffic: each is witnessed, healed, and the cluster whole again.

What is drawn depends on the seed alone; what could not be had is told with its reason and counts as nothing.
"""

from __future__ import annotations

import random
import statistics
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from conformance.running.probes import draw
from fixtures.errors import KitError
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.fault import Fault, Unavailable
from fixtures.faults.injector import Injected, Injector, Unhealed, Unwitnessed
from fixtures.faults.show import Stages, staged
from fixtures.faults.traffic import Traffic
from fixtures.images import Image
from fixtures.runs import Progress, Run
from fixtures.waiting import eventually
from strategies.faults import faults_of

Ending = Literal["healed", "skipped", "unwitnessed", "unhealed", "error"]

POOL = 30
"""How many draws of each kind there are to choose from: Hypothesis begins with the simplest, a storm shall not."""
REASON_LINES = 20
"""Of the states in an error, so many lines are shown: what is lacking comes first, then the nodes' logs."""
WHOLE_WITHIN = 60.0
"""Seconds after trouble until a cluster that is not whole again is given up."""


def drawn_faults(seed: int, kinds: Sequence[type[Fault]] = FAULTS) -> Iterator[Fault]:
    """Faults without end: round after round each kind once, in a random order and with random parameters."""
    dice = random.Random(seed)
    pools = {kind: _pool(kind, seed) for kind in kinds}
    while True:
        for kind in dice.sample(list(kinds), len(kinds)):
            yield dice.choice(pools[kind]).fresh()


def _pool(kind: type[Fault], seed: int) -> list[Fault]:
    number = zlib.crc32(f"storm {kind.__struct_config__.tag} {seed}".encode())
    return [values["fault"] for values in draw({"fault": faults_of(kind)}, number, POOL)]


class Cycle(msgspec.Struct, kw_only=True):
    """One fault of the storm; `drawn` are all its parameters. `replaced` says why the cluster was given up after it."""

    fault: str
    role: str
    drawn: str
    ending: Ending
    injected: Injected | None = None
    reason: str = ""
    replaced: str = ""


class TrafficTotal(msgspec.Struct, kw_only=True):
    """What the writers got through, all clusters together."""

    acknowledged: int = 0
    unacknowledged: int = 0
    longest_gap: float = 0.0
    seconds: float = 0.0
    trouble: list[str] = []


class Storm:
    """Runs cycles until so many of them count; the rows are in `cycles`."""

    def __init__(self, image: Image, run: Run, progress: Progress) -> None:
        self.cycles: list[Cycle] = []
        self.traffic = TrafficTotal(trouble=[])
        self._label = image.label
        self._progress = progress
        self._stages = Stages(image, run)
        self._writer: Traffic | None = None

    def rage(self, faults: Iterator[Fault], count: int) -> None:
        """Raises KitError when so many faults in a row could not be had that none ever will."""
        began = time.monotonic()
        skipped = 0
        try:
            while self.counted < count:
                cycle = self._cycle(next(faults))
                self.cycles.append(cycle)
                self._progress(self._line(cycle, count))
                skipped = skipped + 1 if cycle.ending == "skipped" else 0
                if skipped > 2 * len(FAULTS):
                    raise KitError(f"{skipped} faults in a row could not be had, the last one: {cycle.reason}")
        finally:
            self.traffic.seconds = time.monotonic() - began
            self._end_traffic()
            self._stages.close()

    @property
    def counted(self) -> int:
        return sum(cycle.ending != "skipped" for cycle in self.cycles)

    def _cycle(self, fault: Fault) -> Cycle:
        scene = self._stages.scene()
        if self._writer is None:
            self._writer = Traffic(scene).start()
        cycle = attempted(Injector(scene), fault)
        if cycle.ending not in ("healed", "skipped"):
            cycle.replaced = self._given_up()
        return cycle

    def _given_up(self) -> str:
        """After trouble: the cluster becomes whole by itself, or is replaced; why it was."""
        scene = self._stages.scene()
        try:
            eventually(lambda: not scene.lacking(), within=WHOLE_WITHIN, what="whole after trouble", state=scene.states)
        except KitError as reason:
            self._end_traffic()
            self._stages.replace()
            return str(reason)
        return ""

    def _end_traffic(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.stop()
        except Exception as trouble:  # told at the end: the faults were witnessed and healed all the same
            self.traffic.trouble.append(f"{type(trouble).__name__}: {trouble}")
        self.traffic.acknowledged += writer.acknowledged
        self.traffic.unacknowledged += writer.unacknowledged
        self.traffic.longest_gap = max(self.traffic.longest_gap, writer.longest_gap)

    def _line(self, cycle: Cycle, count: int) -> str:
        text = f"{self.counted}/{count} {self._label} {cycle.fault} of the {cycle.role}: {cycle.ending}"
        if cycle.injected is not None and cycle.ending == "healed":
            text += f", shown in {_shown_in(cycle.injected):.1f} s, whole in {cycle.injected.heal_seconds:.1f} s"
        if cycle.ending == "skipped":
            text += f" ({_first(cycle.reason)})"
        elif cycle.reason:
            text += "\n    ".join(["", cycle.drawn, *cycle.reason.splitlines()[:REASON_LINES]])
        return text + (f"\n    THE CLUSTER IS REPLACED: {_first(cycle.replaced)}" if cycle.replaced else "")


def attempted(injector: Injector, fault: Fault) -> Cycle:
    """One cycle; whatever goes wrong in it is its ending, never raised."""
    drawn = msgspec.json.encode(fault).decode()
    cycle = Cycle(fault=fault.name, role=fault.role, drawn=drawn, ending="healed")
    try:
        with staged(injector, fault.role):
            cycle.injected = injector.inject(fault)
            injector.heal(fault)
    except Unavailable as reason:
        cycle.ending, cycle.reason = "skipped", str(reason)
    except Unwitnessed as reason:
        cycle.ending, cycle.reason = "unwitnessed", str(reason)
    except Unhealed as reason:
        cycle.ending, cycle.reason = "unhealed", str(reason)
    except Exception as reason:  # also what only the engine knows: the storm goes on, and says so
        cycle.ending, cycle.reason = "error", f"{type(reason).__name__}: {reason}"
    return cycle


# --- what it comes to


def succeeded(storm: Storm) -> bool:
    """Every fault that was injected showed and healed, no cluster was lost, and the traffic went on to the end."""
    return all(cycle.ending in ("healed", "skipped") for cycle in storm.cycles) and not storm.traffic.trouble


def summary(storm: Storm) -> list[str]:
    """The table, what was skipped and what went wrong, and the totals."""
    lines = ["| fault | cycles | unwitnessed | unhealed | error | skipped | to witness | to heal |"]
    lines += ["|---|---:|---:|---:|---:|---:|---:|---:|"]
    by_fault: dict[str, list[Cycle]] = defaultdict(list)
    for cycle in storm.cycles:
        by_fault[cycle.fault].append(cycle)
    lines += [_row(fault, cycles) for fault, cycles in sorted(by_fault.items())]
    return [*lines, "", *_reasons(storm.cycles), *_totals(storm)]


def _row(fault: str, cycles: list[Cycle]) -> str:
    endings = Counter(cycle.ending for cycle in cycles)
    healed = [cycle.injected for cycle in cycles if cycle.injected is not None and cycle.ending == "healed"]
    counts = [len(cycles) - endings["skipped"], *(endings[e] for e in ("unwitnessed", "unhealed", "error", "skipped"))]
    times = [_median([_shown_in(one) for one in healed]), _median([one.heal_seconds for one in healed])]
    return f"| {fault} | " + " | ".join([*map(str, counts), *times]) + " |"


def _reasons(cycles: list[Cycle]) -> list[str]:
    counts = Counter((c.ending, c.fault, c.role, _first(c.reason)) for c in cycles if c.reason)
    return [f"{ending} ({n}): {fault} of the {role}: {why}" for (ending, fault, role, why), n in sorted(counts.items())]


def _totals(storm: Storm) -> list[str]:
    replaced = [cycle.replaced for cycle in storm.cycles if cycle.replaced]
    traffic = storm.traffic
    rate = traffic.acknowledged / traffic.seconds if traffic.seconds else 0.0
    return [
        f"{storm.counted} cycles in {traffic.seconds:.0f} s; {len(replaced)} clusters replaced",
        *[f"replaced: {_first(reason)}" for reason in replaced],
        f"traffic: {traffic.acknowledged} records acknowledged ({rate:.0f} a second), {traffic.unacknowledged} not, "
        f"longest gap {traffic.longest_gap:.1f} s",
        *[f"traffic ended early: {trouble}" for trouble in traffic.trouble],
    ]


def _shown_in(injected: Injected) -> float:
    return injected.inject_seconds + injected.witness_seconds


def _median(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s" if seconds else "-"


def _first(text: str) -> str:
    return (text.strip().splitlines() or [""])[0]
