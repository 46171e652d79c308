"""Running a probe until each of its cases is at its floor, or it has had its tries."""

from __future__ import annotations

import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from conformance.catalogue import Facts, shipped
from conformance.catalogue.applicability import applies
from conformance.checks import Check
from conformance.evaluate import Outcome, canonical, evaluate
from conformance.judges.verdicts import FLOORS
from conformance.running.evidence import write_evidence
from conformance.running.lab import Lab, Standing
from fixtures.errors import KitError
from history.events import End
from history.observations import Observation
from history.shards import Column, FaultCount

EXAMPLES_A_ROUND = 5
ROUNDS = 3
MOST_ERRORS = 3
EVIDENCE_A_CASE = 1


class ProbeRun:
    """One probe on one column. `violations` holds what broke a row, `trouble` why the probe did not get to its floors."""

    def __init__(self, check: Check, lab: Lab, label: str) -> None:
        self.check = check
        self.lab = lab
        self.label = label
        self.violations: list[Observation] = []
        self.trouble: list[str] = []
        self._column: Column | None = None
        self._examples = 0
        self._errors = 0
        self._seen: dict[tuple[str, str], list[Observation]] = defaultdict(list)
        self._evidence: dict[tuple[str, str], int] = defaultdict(int)

    def run(self) -> None:
        """Everything seen is in the shard when this returns; raises nothing that a check or a cluster may cause."""
        began = time.monotonic()
        outcome = "done"
        try:
            outcome = self._run_cases()
        except KitError as error:
            self.trouble.append(str(error))
        if self.trouble:
            outcome = "error"
        column = self._column or self.lab.bare_column(self.label)
        self.lab.shard(column).check(
            check=self.check.id,
            rows=list(self.check.rows),
            outcome=outcome,
            examples=self._examples,
            seconds=round(time.monotonic() - began, 3),
            detail="\n".join(self.trouble)[:4000],
        )

    def _run_cases(self) -> str:
        if self.lab.time_left(self.label) <= 0:
            return "cut-off"
        standing = self.lab.standing(self.label, self.check.rig.topology)
        self._column = standing.column
        for case in self._cases(standing.column):
            self._run_case(standing, case)
        return "done"

    def _cases(self, column: Column) -> list[str]:
        """The cases to run for; one empty one for a probe that names its cases itself; none if no row applies."""
        facts = Facts(version=column.version, ranges=column.ranges)
        applicable = [row for id in self.check.rows if applies(facts, (row := shipped()[id]).applies, row.needs)]
        if not applicable:
            return []
        if "case" not in self.check.takes:
            return [""]
        known = {case.id for row in applicable for case in row.applicable_cases(facts)}
        first = shipped()[self.check.rows[0]]
        wanted = self.check.cases or [case.id for case in first.applicable_cases(facts)]
        return [case for case in wanted if case in known]

    def _run_case(self, standing: Standing, case: str) -> None:
        for round in range(ROUNDS):
            for drawn in self._drawn(case, round):
                if self._errors >= MOST_ERRORS:
                    return
                self._run_example(standing, case, drawn)
            if self._at_floor(case):
                return

    def _drawn(self, case: str, round: int) -> Iterator[dict[str, Any]]:
        if not self.check.strategies:
            return iter([{} for _ in range(EXAMPLES_A_ROUND)])
        number = zlib.crc32(f"{self.check.id} {case} {round} {self.lab.settings.seed}".encode())
        return iter(draw(self.check.strategies, number, EXAMPLES_A_ROUND))

    def _at_floor(self, case: str) -> bool:
        """Has every case seen so far (of those that this round was for) what a probe's cell needs?"""
        seen = {key: found for key, found in self._seen.items() if not case or key[1] == case}
        return bool(seen) and all(self._enough(row, found) for (row, _), found in seen.items())

    def _enough(self, row: str, found: list[Observation]) -> bool:
        floor = FLOORS[shipped()[row].kind]
        inputs = min(floor.inputs, shipped()[row].inputs)
        return len(found) >= floor.observations and len({o.inputs for o in found}) >= inputs

    def _run_example(self, standing: Standing, case: str, drawn: dict[str, Any]) -> None:
        began = time.monotonic()
        context = self.lab.shared_context(self.check.rig, standing) if self.check.rig.shared else {}
        inputs = msgspec.to_builtins(drawn)
        schedule = [{"check": self.check.id, "case": case, "inputs": inputs}]
        tape = self.lab.tape(
            self.check.id, standing.column, case=case, inputs=inputs, schedule=schedule, context=context
        )
        bench = self.lab.bench(tape, standing)
        try:
            outcome = evaluate(self.check, bench, drawn, context)
        finally:
            bench.close()
        history = tape.end(End(example=tape.example.example, outcome=outcome.end, detail=outcome.detail))
        self._examples += 1
        self._file(standing, history, outcome, time.monotonic() - began)

    def _file(self, standing: Standing, history: Any, outcome: Outcome, seconds: float) -> None:
        """Into the shard with it, observations first: a violation is written before anything else can go wrong."""
        shard = self.lab.shard(standing.column)
        for observation in outcome.observations:
            evidence = self._evidence_of(standing, history, observation)
            fields = msgspec.structs.asdict(observation)
            shard.observation(**fields, check=self.check.id, history=self.lab.history_path, evidence=evidence)
            self._seen[observation.requirement, observation.case].append(observation)
        shard.example(
            example=history.example.example,
            check=self.check.id,
            outcome=outcome.end,
            rows=sorted({o.requirement for o in outcome.observations}),
            faults=faults_of(history),
            seconds=round(seconds, 3),
            detail=outcome.detail[:4000],
        )
        if outcome.end == "error":
            self._errors += 1
            self.trouble += [outcome.detail] if self._errors >= MOST_ERRORS else []
            self.lab.check_health()

    def _evidence_of(self, standing: Standing, history: Any, observation: Observation) -> str:
        if observation.result != "violated":
            return ""
        self.violations.append(observation)
        if self.lab.settings.keep_cluster:
            self.lab.keep()
        key = (observation.requirement, observation.case)
        self._evidence[key] += 1
        if self._evidence[key] > EVIDENCE_A_CASE:
            return ""
        return write_evidence(self.lab.settings.out_dir, standing.cluster, standing.column, history, observation)


def draw(strategies: dict[str, st.SearchStrategy[Any]] | Any, number: int, count: int) -> list[dict[str, Any]]:
    """`count` draws at most, as different as the strategies allow: Hypothesis does not repeat itself within a run."""
    drawn: list[dict[str, Any]] = []

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.fixed_dictionaries(dict(strategies)))
    def collect(values: dict[str, Any]) -> None:
        if canonical(msgspec.to_builtins(values)) not in {canonical(msgspec.to_builtins(old)) for old in drawn}:
            drawn.append(values)

    collect()
    return [drawn[n % len(drawn)] for n in range(count)]


def faults_of(history: Any) -> dict[str, FaultCount]:
    """How often each fault was injected, witnessed and healed in one example."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"injected": 0, "witnessed": 0, "healed": 0})
    names = {"inject": "injected", "witness": "witnessed", "heal": "healed"}
    for event in history.events:
        if event.__struct_config__.tag == "fault":
            counts[event.fault][names[event.phase]] += 1
    return {fault: FaultCount(**count) for fault, count in sorted(counts.items())}
