"""The coverage of machines and schedules in a run: what they reached and what they never reached, in a few lines per column."""

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from conformance.catalogue import Facts, shipped_rows
from conformance.catalogue.floors import FLOORS
from conformance.core.checks import Check
from conformance.core.machines import AnyMachine, MachineCheck
from conformance.core.registry import AnyCheck
from conformance.running.violations import breaks_its_row
from history.shards import CheckLine, Column, ExampleLine, FaultCount, ObservationLine, Shard

K = TypeVar("K")

WIDTH = 118
INDENT = 12


class CheckTotals:
    """The results of one check on one column, over all workers."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.examples: list[ExampleLine] = []
        self.observations: list[ObservationLine] = []
        self.outcomes: set[str] = set()

    @property
    def example_outcomes(self) -> Counter[str]:
        """The number of examples by how they ended."""
        return Counter(example.outcome for example in self.examples)

    @property
    def seconds(self) -> float:
        """The seconds of all examples."""
        return sum(example.seconds for example in self.examples)

    @property
    def steps(self) -> Counter[str]:
        """The number of steps taken, by kind."""
        return _sum_counts(example.steps for example in self.examples)

    @property
    def left_out(self) -> Counter[str]:
        """The number of steps skipped, by kind."""
        return _sum_counts(example.left_out for example in self.examples)

    def faults(self, phase: str) -> Counter[str]:
        return _sum_counts(_count_faults(example.faults, phase) for example in self.examples)

    def premises(self, kind: str) -> Counter[str]:
        return _sum_counts({what: getattr(count, kind) for what, count in e.premises.items()} for e in self.examples)

    @property
    def excuses(self) -> Counter[tuple[str, str, str]]:
        """The number of excuses by row, case and name."""
        counts = [count for example in self.examples for count in example.excuses]
        return _sum_counts({(one.requirement, one.case, one.excuse): one.times} for one in counts)

    @property
    def troubles(self) -> Counter[str]:
        """The reasons why examples ended early: the first line of each, without the names of the example's topics."""
        errors = [e.detail.partition("\n")[0] for e in self.examples if e.outcome == "error"]
        return Counter(re.sub(r"-\d{6}-\d{6}-[\w-]+", "", line)[:100] for line in errors)

    @property
    def cases(self) -> Counter[tuple[str, str]]:
        return Counter((observation.requirement, observation.case) for observation in self.observations)


def totals_by_check(shards: Iterable[Shard], run: str) -> dict[tuple[str, str], CheckTotals]:
    """Add up the shards of one run, by check and column's label."""
    found: dict[tuple[str, str], CheckTotals] = {}
    for shard in shards:
        if shard.header is not None and shard.header.run == run:
            column = shard.header.column
            for line in shard.lines:
                if isinstance(line, ExampleLine | ObservationLine | CheckLine):
                    _add_line(found.setdefault((line.check, column.label), CheckTotals(column)), line)
    return dict(sorted(found.items()))


def _add_line(to: CheckTotals, line: ExampleLine | ObservationLine | CheckLine) -> None:
    match line:
        case ExampleLine():
            to.examples.append(line)
        case ObservationLine():
            to.observations.append(line)
        case CheckLine():
            to.outcomes.add(line.outcome)


def statistics_lines(found: Mapping[tuple[str, str], CheckTotals], checks: Mapping[str, AnyCheck]) -> list[str]:
    """Return the lines about machines' coverage, and one line per schedule; empty for a run of probes."""
    reached: list[str] = []
    schedules: list[tuple[str, str, str]] = []
    for (id, label), one in found.items():
        check = checks.get(id)
        if isinstance(check, MachineCheck):
            reached += machine_lines(check, label, one)
        elif isinstance(check, Check) and check.schedule:
            schedules.append((check.schedule, label, schedule_line(check, label, one)))
    return reached + [line for _, _, line in sorted(schedules)]


# --- machines


def machine_lines(check: AnyMachine, label: str, one: CheckTotals) -> list[str]:
    """Return how often a machine reached its steps, faults, premises and cases, and which of them it never reached."""
    ended = ", ".join(f"{n} {outcome}" for outcome, n in sorted(one.example_outcomes.items())) or "not run"
    head = (
        f"{check.id} on {label}: {len(one.examples)} examples ({ended}), {one.steps.total()} steps, {one.seconds:.0f} s"
    )
    parts = [
        ("steps", _count_texts(one.steps), [kind for kind in check.kinds if not one.steps[kind]]),
        ("left out", _count_texts(one.left_out), []),
        ("faults", _fault_texts(one), [name for name in check.faults if not one.faults("witnessed")[name]]),
        ("premises", _premise_texts(one), []),
        ("cases", _case_texts(one), _never_observed(check, one)),
        ("excused", _excuse_texts(one), []),
        ("trouble", [f"{count} times {line}" for line, count in one.troubles.most_common()], []),
    ]
    return [head, *(line for name, counts, never in parts for line in _part_lines(name, counts, never))]


def _part_lines(name: str, counts: list[str], never: list[str]) -> Iterator[str]:
    if counts:
        yield from _wrap_text(name, ", ".join(counts))
    if never:
        yield from _wrap_text("" if counts else name, f"NEVER: {', '.join(never)}")


def _wrap_text(name: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"  {name}".ljust(INDENT),
        subsequent_indent=" " * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _count_texts(counts: Counter[str]) -> list[str]:
    return [f"{name} {count}" for name, count in sorted(counts.items()) if count]


def _fault_texts(one: CheckTotals) -> list[str]:
    """Return the faults with the number of times they were witnessed, and injected or healed if that number differs."""
    injected, witnessed, healed = (one.faults(phase) for phase in ("injected", "witnessed", "healed"))
    return [
        f"{name} {witnessed[name]}" + (f" of {count} injected" if count != witnessed[name] else "")
        + (f" ({healed[name]} healed)" if 0 < healed[name] < witnessed[name] else "")
        for name, count in sorted(injected.items())
    ]  # fmt: skip


def _premise_texts(one: CheckTotals) -> list[str]:
    met, unmet = one.premises("met"), one.premises("unmet")
    return [f"{what}: {met[what]} of {met[what] + unmet[what]}" for what in sorted(met.keys() | unmet.keys())]


def _case_texts(one: CheckTotals) -> list[str]:
    by_row: dict[str, list[str]] = defaultdict(list)
    for (row, case), count in sorted(one.cases.items()):
        by_row[row].append(f"{case} {count}")
    return [f"{row} {' '.join(cases)}" for row, cases in by_row.items()]


def _excuse_texts(one: CheckTotals) -> list[str]:
    return [f"{row} {case} {count} by {excuse!r}" for (row, case, excuse), count in sorted(one.excuses.items())]


def _never_observed(check: AnyMachine, one: CheckTotals) -> list[str]:
    facts = Facts(version=one.column.version, ranges=one.column.ranges)
    applicable = [(row, case.id) for row in check.rows for case in shipped_rows()[row].applicable_cases(facts)]
    return [f"{row} {case}" for row, case in dict.fromkeys(applicable) if not one.cases[row, case]]


# --- schedules


def schedule_line(check: Check, label: str, one: CheckTotals) -> str:
    """Return a schedule's line: how often its premise was met, its verdict, and its time."""
    total = len(one.examples)
    count = f"premise reached {one.example_outcomes['judged']} of {total}" if total else "not run"
    return f"{check.schedule:12} {label:10} {count:24} {schedule_verdict(one):13} {one.seconds:6.0f} s  {check.id}"


def schedule_verdict(one: CheckTotals) -> str:
    """Return a schedule's verdict, from its own observations and those of the judges of its history."""
    if rows := sorted({o.requirement for o in one.observations if breaks_its_row(o)}):
        return f"violated ({', '.join(rows)})"
    if "error" in one.outcomes:
        return "error"
    if not one.examples:
        return "not-run"
    return "satisfied" if one.example_outcomes["judged"] >= FLOORS["scenario"].observations else "inconclusive"


# --- counting


def _sum_counts(counts: Iterable[Mapping[K, int]]) -> Counter[K]:
    total: Counter[K] = Counter()
    for one in counts:
        total.update(one)
    return total


def _count_faults(faults: Mapping[str, FaultCount], phase: str) -> dict[str, int]:
    return {name: getattr(count, phase) for name, count in faults.items()}
