"""Running a probe until each of its cases reaches its floor or the tries are used up."""

import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from conformance.catalogue import Facts, shipped_rows
from conformance.catalogue.applicability import applies
from conformance.catalogue.floors import by_situation, floor_of, may_fill, shaping
from conformance.catalogue.rows import LATER, RECORDED, Requirement
from conformance.core.checks import Check
from conformance.core.evaluate import ExampleEnd, canonical_text, evaluate_check, find_proofs, judge_on_column
from conformance.core.topologies import knows_level
from conformance.judging.due import ended_by_itself, hindrance
from conformance.judging.judge import JudgingResult
from conformance.running.check_run import CheckRun
from conformance.running.lab import Lab
from conformance.running.planning.budget import INPUT_SHRINKING
from conformance.running.probe.smaller_inputs import AttemptResult, BrokenInputs, Inputs, shrink_inputs
from conformance.running.standing import BROKEN_HEAL_TIMEOUT, with_reason
from conformance.running.violations import Breach, breach_of, breaks_its_row, first_of_each_breach
from history.events import End, History
from history.observations import Observation
from history.shards import Column

MAX_ROUNDS = 3


class ProbeRun(CheckRun):
    """One probe on one column: rounds until its cases reach their floors, or one `further` round for the `rarest` case."""

    def __init__(self, check: Check, lab: Lab, label: str, *, further: int = 0, rarest: str = "") -> None:
        super().__init__(check, lab, label, further=bool(further))
        self.check = check
        self._rounds = range(further, further + 1) if further else range(MAX_ROUNDS)
        self._rarest = rarest
        self._seen: dict[tuple[str, str], list[Observation]] = defaultdict(list)
        self._broken: dict[Breach, BrokenInputs] = {}
        self._shown: set[Breach] = set()
        """The breaches of rows, and the values of recorded-only rows, that already have evidence."""
        self._investigating = False

    def run_examples(self) -> None:
        self._reach_floors()
        if self.check.strategies and not self.check.schedule:
            self._investigate()

    def _reach_floors(self) -> None:
        # A release without any of the rows may refuse a cluster that was made for them.
        if not self._own_rows(Facts(version=self.lab.images[self.label].version)):
            return
        cases = self.cases(self.standing_cluster().column)
        for case in [self._rarest] if self._rarest in cases else cases:
            for round in self._rounds:
                for drawn in self._inputs_of(case, round):
                    if self.gave_up or self._time_is_up():
                        return
                    self.example(case, drawn)
                    if self._is_decided(case):
                        break
                if self._at_floor(case):
                    break

    def _time_is_up(self) -> bool:
        """True if no further example may begin. Checked between examples, since the examples of a schedule take minutes
        together."""
        self.cut_off = self.cut_off or self.is_over
        return self.cut_off

    def cases(self, column: Column) -> list[str]:
        """Return the cases to run: a single empty name for a probe that names its own cases, none if no row applies."""
        facts = Facts(version=column.version, ranges=column.ranges)
        if not (applicable := self._own_rows(facts)):
            return []
        if "case" not in self.check.parameter_names and len(self.check.cases or ()) != 1:
            return [""]
        known = {case.id for row in applicable for case in row.applicable_cases(facts)}
        own = [row for row in applicable if row.id.removesuffix(LATER) == self.check.own_rows[0]]
        wanted = self.check.cases or dict.fromkeys(case.id for row in own for case in row.applicable_cases(facts))
        return [case for case in wanted if case in known]

    def _own_rows(self, facts: Facts) -> list[Requirement]:
        """Return the rows that apply, none for a release that could not be formatted for the check. Before a cluster exists, this
        depends on the version alone, not on its feature levels."""
        if not knows_level(self.check.topology, facts.version):
            return []
        return [row for id in self.check.own_rows if applies(facts, (row := shipped_rows()[id]).applies, row.needs)]

    def _inputs_of(self, case: str, round: int) -> Iterator[dict[str, Any]]:
        if not self.check.strategies:
            return iter([{} for _ in range(self.check.examples)])
        number = zlib.crc32(f"{self.id} {case} {round} {self.lab.settings.seed}".encode())
        return iter(draw_inputs(self.check.strategies, number, self.check.examples))

    def _is_decided(self, case: str) -> bool:
        """True if a breach is all that further examples could show: the check observes one case, or all in each example, and each
        of them is broken or at its floor."""
        shows_all = bool(self.check.schedule) or (bool(case) and len(self.check.own_rows) == 1)
        return shows_all and any(self._is_broken(*key) for key in self._own_cases(case)) and self._at_floor(case)

    def _is_broken(self, row: str, case: str) -> bool:
        """True if a case is broken and further examples are not worth their time. In nightly they are: they may break the row in
        another way."""
        return not self._is_nightly and any((found.requirement, found.case) == (row, case) for found in self._broken)

    @property
    def _is_nightly(self) -> bool:
        return self.lab.settings.profile == "nightly"

    def _at_floor(self, case: str) -> bool:
        """True if each case seen so far (or each of this round) is broken or has as many observations as a cell needs."""
        seen = self._own_cases(case)
        return bool(seen) and all(
            self._is_broken(*key) or _has_enough(key[0], case, found) for key, found in seen.items()
        )

    def _own_cases(self, case: str) -> dict[tuple[str, str], list[Observation]]:
        """Return the observations of the check's own rows, by row and case; with a `case` those of this case only."""
        # Observations of a scenario's judges, or of other rows, are welcome, but not worth another run.
        scenarios = [id for id in self.check.own_rows if self.check.schedule and shipped_rows()[id].kind == "scenario"]
        rows = scenarios or self.check.own_rows
        return {key: found for key, found in self._seen.items() if key[0] in rows and case in ("", key[1])}

    def example(self, case: str, drawn: dict[str, Any], shows: Breach | None = None) -> dict[Breach, str]:
        """Run and record one example, with evidence of each breach that is new or equals `shows`. Returns the evidence folders by
        breach."""
        began = time.monotonic()
        standing = self.standing_cluster()
        rig = self.check.rig
        context = self.lab.shared_context(rig, standing) if rig.shared else {}
        inputs = msgspec.to_builtins(drawn)
        earlier = msgspec.structs.asdict(standing.earlier[rig.name]) if rig.shared else {}
        tape = self.lab.tape(self.id, standing, case=case, inputs=inputs, context=context, **earlier)
        bench = self.lab.bench(tape, standing)
        try:
            outcome = evaluate_check(self.check, bench, drawn, context)
            broke = self._may_stay_broken(outcome.observations)
            within = BROKEN_HEAL_TIMEOUT if broke else self.heals_within
            replaced = self.lab.heal(bench, tape, troubled=outcome.end == "error", within=within)
        finally:
            bench.close()
        detail = with_reason(outcome.detail, replaced)
        end = example_end(outcome.end, "" if broke else replaced, tape.history)
        history = tape.end(End(example=tape.example.example, outcome=end, detail=detail))
        if rig.shared:
            standing.earlier[rig.name] = standing.earlier[rig.name].after(history)
        facts = Facts(version=standing.column.version, ranges=standing.column.ranges)
        found = JudgingResult(outcome.observations, outcome.excuses) + judge_on_column(facts, self.lab.judges, history)
        if end == "error":
            found = JudgingResult(find_proofs(found.observations), raised=found.raised)
        for observation in found.observations:
            self._seen[observation.requirement, observation.case].append(observation)
        seconds = time.monotonic() - began
        first = first_of_each_breach(o for o in found.observations if o.result == "violated")
        shown = [o for o in first if breach_of(o) not in self._shown or breach_of(o) == shows]
        self._shown |= {breach_of(o) for o in first}
        evidence = {id(o): self.write_evidence(standing, history, o, seconds) for o in shown}
        self.file(standing, history, found.observations, evidence, seconds, excuses=found.excuses, raised=found.raised)
        broken = {breach_of(o): evidence.get(id(o), "") for o in first if breaks_its_row(o)}
        for one in (one for one in first if broken.get(breach_of(one))):
            self._note_breach(one, history, case=case, inputs=drawn, evidence=broken[breach_of(one)], seconds=seconds)
        if replaced := replaced or self.lab.clear(history):
            self.replace_cluster(replaced)
        if not self._investigating:
            self.note_attempt(end, case)
        if not self._investigating and end == "error":
            self.note_failure(detail, seconds)
        elif not self._investigating and (hindered := hindrance(tape.history)):
            self.note_hindrance(hindered, seconds)
        return broken

    def _may_stay_broken(self, observations: Sequence[Observation]) -> bool:
        """True if an example broke its own row, and so may leave the cluster broken, which then is no error of the kit. Nightly
        waits for the cluster all the same, and judges what it owes."""
        own = (o for o in observations if o.requirement in self.check.own_rows)
        return not self._is_nightly and any(map(breaks_its_row, own))

    def _note_breach(self, shown: Observation, history: History, **found: Any) -> None:
        """Keep the inputs of the first example that showed a breach."""
        is_known = self.is_deviation(shown, history)
        self._broken.setdefault(breach_of(shown), BrokenInputs(**found, is_known=is_known))

    def _investigate(self) -> None:
        """Shrink the inputs of each breach whose example fits into the time for that, once the floors are met. Known deviations
        are shrunk in nightly only. A failed attempt neither counts nor ends the probe."""
        self._investigating = True
        for breach, broken in [
            (breach, one) for breach, one in self._broken.items() if self._is_nightly or not one.is_known
        ]:
            ends = min(self.ends, time.monotonic() + INPUT_SHRINKING[self.lab.settings.profile])
            if time.monotonic() + broken.seconds < ends:
                self._reproduce(breach, broken, ends)
        self._investigating = False

    def _reproduce(self, breach: Breach, broken: BrokenInputs, ends: float) -> None:
        def attempt(inputs: Inputs, *, wanted: bool) -> AttemptResult:
            """Run one example to reproduce a breach, with evidence if it is wanted."""
            found = self.example(broken.case, inputs, breach if wanted else None)
            return AttemptResult(shown=breach in found, evidence=found.get(breach, ""))

        found = shrink_inputs(broken, self.check.strategies, attempt, self.lab.settings.out_dir, ends)
        self.file_replays(requirement=breach.requirement, evidence=found.evidence, seen=found.seen, tries=found.tries)


def example_end(outcome: ExampleEnd, replaced: str, history: History) -> ExampleEnd:
    """Return how an example ended. A cluster that did not become healthy is an error of the kit, unless the history blames the
    tested system.

    An earlier error remains one, unless a process had ended by itself, which may show only when the cluster is healed.
    """
    if outcome == "error":
        return "premise lost" if ended_by_itself(history) else "error"
    return "error" if replaced and not hindrance(history) else outcome


def _has_enough(id: str, case: str, found: list[Observation]) -> bool:
    row = shipped_rows()[id]
    if row.level in RECORDED:
        return True
    floor = floor_of(row, case)
    filling = [one for one in found if may_fill(row, case, calm=one.calm)]
    # Further rounds of a check that disturbs nothing would not help.
    counted = filling or found
    shaped = {shaping(one.inputs, row.incidental) for one in counted}
    situations = {(one.example, one.situation) for one in filling}
    number = len(situations) if filling and by_situation(row, case) else len(counted)
    return number >= floor.observations and len(shaped) >= floor.inputs


def draw_inputs(strategies: Mapping[str, st.SearchStrategy[Any]], number: int, count: int) -> list[dict[str, Any]]:
    """Draw `count` inputs that differ as much as the strategies allow: within a run Hypothesis does not repeat itself."""
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
        drawn[canonical_text(msgspec.to_builtins(values))] = values

    collect()
    different = list(drawn.values())
    return [different[n % len(different)] for n in range(count)]
