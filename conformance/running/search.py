"""A worker's use of its remaining time: it runs the checks of the rarest cases, one after the other."""

import time
from collections import Counter
from collections.abc import Sequence

from conformance.core.machines import MachineCheck
from conformance.core.registry import AnyCheck
from conformance.running.check_run import CheckRun
from conformance.running.lab import Lab
from conformance.running.machine.run import MachineRun
from conformance.running.planning.budget import PARTS, PATIENCE
from conformance.running.planning.rarest import RareCase, add_up_shards, rank_cases
from conformance.running.probe.run import ProbeRun
from conformance.running.violations import Breach
from history.observations import Observation
from history.shards import read_shards

MIN_SECONDS = 30.0
"""The minimum number of seconds for another round, which may have to boot a cluster."""
SLICE = 120.0
"""Seconds for which a machine runs before the rarest cases are determined again."""


class Search:
    """One worker's search for the rarest cases of one column. Parallel workers take different cases, depending on their
    `part`."""

    def __init__(self, lab: Lab, label: str, checks: Sequence[AnyCheck], part: int) -> None:
        self._lab = lab
        self._label = label
        self._checks = {check.id: check for check in checks}
        self._part = part
        self._tried: Counter[str] = Counter()
        self._known: dict[Breach, str] = {}
        self.violations: list[Observation] = []
        self.trouble: list[str] = []

    def run(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while ends - time.monotonic() > MIN_SECONDS and (rare := self._find_rarest()) is not None:
            self._tried[rare.check] += 1
            run = self._run_of(rare)
            self._lab.progress.note_check(self._label, rare.check)
            run.run(min(ends - time.monotonic(), SLICE if isinstance(run, MachineRun) else PATIENCE["schedule"]))
            self.violations += run.violations
            self.trouble += run.trouble

    def _find_rarest(self) -> RareCase | None:
        out, run = self._lab.settings.out_dir, self._lab.run.id
        found = add_up_shards(read_shards(out / "shards", run), self._label)
        if found is None:
            return None
        self._known = found.breaches
        rare = rank_cases(found, list(self._checks.values()), self._tried)
        return rare[min(self._part, len(rare)) - 1] if rare else None

    def _run_of(self, rare: RareCase) -> CheckRun:
        """Return another run of a check with a new seed: rounds and parts are numbered after the planned ones."""
        check = self._checks[rare.check]
        again = self._tried[rare.check] + 100 * self._part
        if isinstance(check, MachineCheck):
            part = max(PARTS.values()) + again
            return MachineRun(check, self._lab, self._label, part, further=True, known=self._known)
        return ProbeRun(check, self._lab, self._label, further=again, rarest=rare.case)
