"""Running a probe until each of its cases is at its floor, or it has had its tries."""

from __future__ import annotations

import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from conformance.catalogue import Facts, shipped
from conformance.catalogue.applicability import applies
from conformance.core.checks import Check
from conformance.core.evaluate import Outcome, canonical, evaluate
from conformance.judging.verdicts import FLOORS
from conformance.running.check_run import CheckRun
from conformance.running.evidence.folder import write_evidence
from conformance.running.lab import Lab, Standing, with_reason
from history.events import End, History
from history.observations import Observation
from history.shards import Column

ROUNDS = 3


class ProbeRun(CheckRun):
    """One probe on one column: rounds until its cases are at their floors, or one `further` round for the `rarest` case."""

    def __init__(self, check: Check, lab: Lab, label: str, *, further: int = 0, rarest: str = "") -> None:
        super().__init__(check.id, check.rows, check.topology, lab, label, further=bool(further))
        self.check = check
        self._rounds = range(further, further + 1) if further else range(ROUNDS)
        self._rarest = rarest
        self._seen: dict[tuple[str, str], list[Observation]] = defaultdict(list)
        self._shown: set[tuple[str, str]] = set()

    def run_examples(self) -> None:
        cases = self.cases(self.standing().column)
        for case in [self._rarest] if self._rarest in cases else cases:
            for round in self._rounds:
                for drawn in self._drawn(case, round):
                    if self.gave_up or self._time_is_up():
                        return
                    self.example(case, drawn)
                if self._at_floor(case):
                    break

    def _time_is_up(self) -> bool:
        """Between examples: those of a schedule take minutes together."""
        self.cut_off = self.cut_off or self.is_over
        return self.cut_off

    def cases(self, column: Column) -> list[str]:
        """The cases to run for; one empty one for a probe that says itself which it observes; none if no row applies."""
        facts = Facts(version=column.version, ranges=column.ranges)
        applicable = [row for id in self.check.own_rows if applies(facts, (row := shipped()[id]).applies, row.needs)]
        if not applicable:
            return []
        if "case" not in self.check.takes and len(self.check.cases or ()) != 1:
            return [""]
        known = {case.id for row in applicable for case in row.applicable_cases(facts)}
        first = shipped()[self.check.own_rows[0]]
        wanted = self.check.cases or [case.id for case in first.applicable_cases(facts)]
        return [case for case in wanted if case in known]

    def _drawn(self, case: str, round: int) -> Iterator[dict[str, Any]]:
        if not self.check.strategies:
            return iter([{} for _ in range(self.check.examples)])
        number = zlib.crc32(f"{self.id} {case} {round} {self.lab.settings.seed}".encode())
        return iter(draw(self.check.strategies, number, self.check.examples))

    def _at_floor(self, case: str) -> bool:
        """Has every case seen so far (of those that this round was for) what a probe's cell needs?"""
        # What judges find in a scenario's history is worth having, not worth another run; nor is what it shows of other rows.
        scenarios = [id for id in self.check.own_rows if self.check.schedule and shipped()[id].kind == "scenario"]
        own = {key: found for key, found in self._seen.items() if key[0] in (scenarios or self.check.own_rows)}
        seen = {key: found for key, found in own.items() if not case or key[1] == case}
        return bool(seen) and all(_enough(row, found) for (row, _), found in seen.items())

    def example(self, case: str, drawn: dict[str, Any]) -> Outcome:
        """One example on the cluster, filed when this returns."""
        began = time.monotonic()
        standing = self.standing()
        context = self.lab.shared_context(self.check.rig, standing) if self.check.rig.shared else {}
        tape = self.lab.tape(self.id, standing, case=case, inputs=msgspec.to_builtins(drawn), context=context)
        bench = self.lab.bench(tape, standing)
        try:
            outcome = evaluate(self.check, bench, drawn, context)
            replaced = self.lab.healed(bench, tape, troubled=outcome.end == "error", within=self.heals_within)
        finally:
            bench.close()
        detail = with_reason(outcome.detail, replaced)
        end: Literal["judged", "premise lost", "error"] = "error" if replaced else outcome.end
        history = tape.end(End(example=tape.example.example, outcome=end, detail=detail))
        for observation in outcome.observations:
            self._seen[observation.requirement, observation.case].append(observation)
        seconds = time.monotonic() - began
        evidence = {id(o): self._evidence(standing, history, o, seconds) for o in outcome.observations}
        self.file(standing, history, outcome.observations, evidence, seconds)
        if replaced:
            self.replace_cluster(replaced)
        if end == "error":
            self.failed(detail, seconds)
        return outcome

    def _evidence(self, standing: Standing, history: History, observation: Observation, seconds: float) -> str:
        """One folder for each broken case is enough to look at."""
        key = (observation.requirement, observation.case)
        if observation.result != "violated" or key in self._shown:
            return ""
        self._shown.add(key)
        return write_evidence(
            self.lab.settings.out_dir, standing.cluster, standing.column, history, observation, seconds
        )


def _enough(row: str, found: list[Observation]) -> bool:
    floor = FLOORS[shipped()[row].kind]
    inputs = min(floor.inputs, shipped()[row].inputs)
    return len(found) >= floor.observations and len({o.inputs for o in found}) >= inputs


def draw(strategies: Mapping[str, st.SearchStrategy[Any]], number: int, count: int) -> list[dict[str, Any]]:
    """`count` draws, as different as the strategies allow: Hypothesis does not repeat itself within a run."""
    drawn: dict[str, dict[str, Any]] = {}

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
        drawn[canonical(msgspec.to_builtins(values))] = values

    collect()
    different = list(drawn.values())
    return [different[n % len(different)] for n in range(count)]
