"""Replaying one schedule, for `--replay schedule.json`."""

from pathlib import Path

import msgspec

from conformance.core.machines import AnyMachine, MachineCheck
from conformance.core.registry import AnyCheck
from conformance.running.check_run import CheckRun
from conformance.running.evidence.folder import Schedule
from conformance.running.lab import Lab
from conformance.running.machine.example import Ending
from conformance.running.machine.investigator import REPLAYS
from conformance.running.machine.run import MachineRun
from conformance.running.probe.run import ProbeRun
from fixtures.cluster import Topology
from history.observations import Observation
from history.schema import decode


def read_schedule(path: Path) -> Schedule:
    """Read a schedule. Raises ValueError if the file is not a schedule, WrongSchema if it has another schema."""
    try:
        return decode(path.read_bytes(), Schedule, path)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(f"--replay {path}: {error}. Give the schedule.json of an evidence folder.") from error


class ReplayRun(CheckRun):
    """The replay of one schedule, several times, which reports how often the violation appeared again."""

    def __init__(self, check: AnyCheck, schedule: Schedule, lab: Lab, label: str) -> None:
        super().__init__(check, lab, label)
        self._check = check
        self._schedule = schedule

    def run_examples(self) -> None:
        runner = self._runner()
        seen = 0
        for _ in range(REPLAYS):
            before = len(runner.violations)
            self._run_once(runner)
            seen += any(self._is_wanted(observation) for observation in runner.violations[before:])
        self.violations = runner.violations
        self.trouble += runner.trouble
        self.remarks += runner.remarks
        print(f"{self._schedule.requirement or self.id}: violated in {seen} of {REPLAYS} replays", flush=True)

    def _is_wanted(self, observation: Observation) -> bool:
        return self._schedule.requirement in ("", observation.requirement)

    def _runner(self) -> ProbeRun | MachineRun:
        if isinstance(self._check, MachineCheck):
            run = MachineRun(self._check, self.lab, self.label)
            run.topology = self._topology(self._check)
            return run
        return ProbeRun(self._check, self.lab, self.label)

    def _topology(self, check: AnyMachine) -> Topology:
        """Return the topology on which the schedule was recorded, or the machine's default if that no longer exists."""
        named = (one for one in check.topologies if one.name == self._schedule.topology)
        return next(named, check.topology)

    def _run_once(self, runner: ProbeRun | MachineRun) -> None:
        if isinstance(runner, MachineRun):
            runner.play(runner.check.steps(self._schedule.steps), Ending(stops=self._is_wanted))
        else:
            runner.example(self._schedule.case, runner.check.parse_inputs(self._schedule.inputs))
