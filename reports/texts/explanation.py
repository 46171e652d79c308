"""The explanation of one cell, line by line."""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from conformance.catalogue import Requirement
from conformance.catalogue.floors import by_situation, floor_of
from conformance.catalogue.notice import what_a_user_notices
from conformance.judging.verdicts import CaseTally, count_idle
from history.command import replay_command
from protocol.words import say
from reports.insights import Insights
from reports.matrix import ColumnReport, Matrix, ReportedCell, RowFacts, Violation
from reports.texts import wording
from reports.texts.versions import in_words, spans, unrun_in_words, with_age

_RUNS = 10
_PATHS = 5


class ExplainedCell(NamedTuple):
    """A cell and its context.

    `rule` is None for a row missing in this kit's catalogue; `run` is the local folder to which evidence is relative,
    if any.
    """

    matrix: Matrix
    insights: Insights
    requirement: str
    label: str
    rule: Requirement | None
    run: Path | None

    @property
    def cells(self) -> list[ReportedCell]:
        """The cells of the row, in the order of the columns."""
        found = {cell.kafka_version: cell for cell in self.matrix.cells if cell.requirement == self.requirement}
        return [found[label] for label in self.matrix.kafka_versions]

    @property
    def cell(self) -> ReportedCell:
        return next(cell for cell in self.cells if cell.kafka_version == self.label)

    @property
    def facts(self) -> RowFacts:
        return next(row for row in self.matrix.requirements if row.requirement == self.requirement)

    @property
    def column(self) -> ColumnReport:
        return next(column for column in self.matrix.columns if column.kafka_version == self.label)


def explanation(about: ExplainedCell) -> Iterator[str]:
    """Yield the lines of the explanation; texts from brokers stay unchanged."""
    cell = about.cell
    yield f"{about.requirement} on {about.label}: {wording.GLYPHS[cell.verdict]} {cell.verdict}"
    for title, lines in (
        ("What it asks", _question_lines(about)),
        ("Why it is so", _verdict_lines(about)),
        ("What it rests on", _basis_lines(about)),
        ("What a user would notice", _notice_lines(about)),
        ("Violations", _violation_lines(about)),
        ("Over the versions", _history_lines(about)),
        ("Over the runs", _trend_lines(about)),
        ("See for yourself", _command_lines(about)),
    ):
        if found := list(lines):
            yield from ("", title, *found)


def _question_lines(about: ExplainedCell) -> Iterator[str]:
    facts, rule = about.facts, about.rule
    yield f"  {facts.title}"
    if rule:
        yield f"  {' '.join(rule.statement.split())}"
    yield f"  Source: {facts.source}; level {facts.level}, {facts.priority}, judged as a {facts.kind}"
    if rule:
        yield f"  Applies to {_ranges_text(rule.applies)}{_needs_text(rule.needs)}"
        yield from (
            f"  Expected{_versions_text(e.versions)}{_needs_text(e.needs)}: {e.about}" for e in rule.expectations
        )
        if rule.note:
            yield f"  Note: {' '.join(rule.note.split())}"


def _needs_text(needs: list[str]) -> str:
    return f", needs {' and '.join(needs)}" if needs else ""


def _versions_text(versions: list[str]) -> str:
    return f" in {_ranges_text(versions)}" if versions else ""


def _ranges_text(ranges: list[str]) -> str:
    return " or ".join(map(in_words, ranges)) or "every version"


def _verdict_lines(about: ExplainedCell) -> Iterator[str]:
    cell = about.cell
    yield f"  {cell.verdict}: {wording.MEANINGS[cell.verdict]}"
    if reason := wording.cell_reason(cell):
        yield f"  {reason}"
    for entry in cell.known:
        ticket = f" ({wording.TICKETS}{entry.ticket})" if entry.ticket else ""
        what = "race" if entry.race else "deviation"
        yield f"  Known {what} of {_ranges_text(list(entry.versions))}{ticket}: {' '.join(entry.reason.split())}"
    yield from (f"  The column is incomplete: {reason}" for reason in about.column.incomplete)
    yield from (f"  In this column {reason}" for reason in about.column.ended_early)


def _notice_lines(about: ExplainedCell) -> Iterator[str]:
    if about.cell.shown:
        yield from (f"  {text}" for text in what_a_user_notices(about.requirement, about.cell.known))


def _basis_lines(about: ExplainedCell) -> Iterator[str]:
    cell = about.cell
    for name, tally in cell.cases.items():
        yield f"  Case {name}{_case_text(about, name)}: {_tally_text(about, name, tally)}"
        yield from _excuse_lines(about, name)
    if cell.cases and about.rule:
        floor = floor_of(about.rule)
        changed = f", {floor.changed} after a change" if floor.changed else ""
        counted = "distinct situations" if by_situation(about.rule, "") else "held"
        needed = f"{floor.observations} {counted}, {floor.inputs} distinct inputs, {floor.examples} examples{changed}"
        yield f"  Floor of each case: {needed}"
    yield f"  Checks: {cell.checks.ran} of {cell.checks.known} ran, {cell.checks.errors} in trouble of the kit"
    yield from (f"    {text}" for text in wording.missing_examples(cell))
    yield from _check_lines(about)
    for name, count in cell.faults.items():
        yield f"  Fault {name}: {count.witnessed} witnessed of {count.injected} injected, {count.healed} healed"


def _excuse_lines(about: ExplainedCell, case: str) -> Iterator[str]:
    for each in about.insights.excused:
        if (each.kafka_version, each.requirement, each.case) == (about.label, about.requirement, case):
            for name, times in each.excused.items():
                yield f"    left undecided {times} times by {each.check}: {name}"


def _case_text(about: ExplainedCell, name: str) -> str:
    return next((f" ({case.about})" for case in about.rule.cases if case.id == name), "") if about.rule else ""


def _tally_text(about: ExplainedCell, case: str, tally: CaseTally) -> str:
    counts = [f"{count} {name}" for name in ("held", "violated", "recorded") if (count := getattr(tally, name))]
    idle = count_idle(about.rule, case, tally) if about.rule else 0
    calm = f" ({idle} of them where nothing was disturbed)" if idle else ""
    wavering = ", identical tries answered differently" if tally.wavering else ""
    seen = ", ".join([f"{', '.join(counts) or 'nothing seen'}{calm}", *wording.undecided_in_words(tally)])
    situations = f"{tally.situations} situations, " if about.rule and by_situation(about.rule, case) else ""
    return f"{seen}; {situations}{tally.inputs} distinct inputs, {tally.examples} examples{wavering}"


def _check_lines(about: ExplainedCell) -> Iterator[str]:
    """Yield each check of the row with its time, and its premises that were not always met."""
    spent = {each.check: each for each in about.insights.spent if each.kafka_version == about.label}
    for check in about.facts.checks:
        took = f": {spent[check].examples} examples in {spent[check].seconds:.0f} s" if check in spent else ""
        yield f"    {check}{took}"
        for premise in about.insights.premises:
            if (premise.kafka_version, premise.check) == (about.label, check) and premise.unmet:
                yield f"      premise {premise.premise!r}: met {premise.met}, not met {premise.unmet}"


def _group_alike(violations: Sequence[Violation]) -> list[list[Violation]]:
    """Group violations by case, label and check; groups with evidence come first."""
    found: dict[tuple[str, str, str], list[Violation]] = {}
    for one in sorted(violations, key=lambda one: not one.evidence):
        found.setdefault((one.case, one.label, one.check), []).append(one)
    return list(found.values())


def _violation_lines(about: ExplainedCell) -> Iterator[str]:
    for alike in _group_alike(about.cell.shown):
        shown = alike[0]
        label = f" [{shown.label}]" if shown.label else ""
        times = sum(one.times for one in alike)
        yield f"  Case {shown.case}{label}, seen {times} times by {shown.check}: {wording.sentence_of(shown)}"
        if shown.evidence:
            yield f"      report: {_path_text(about, f'{shown.evidence}/report.md')}"
        if shown.history:
            yield f"      events {say(shown.events)} of example {shown.example} in {_path_text(about, shown.history)}"
        if len(alike) > 1:
            yield f"    and {len(alike) - 1} in other words, the first of example {alike[1].example}"
    for each in about.insights.wavering:
        if (each.kafka_version, each.requirement) == (about.label, about.requirement):
            answers = ", ".join(f"{answer} {times} times" for answer, times in each.answers.items())
            results = ", ".join(
                part for part in (f"{each.violated} violated" if each.violated else "", answers) if part
            )
            yield f"  Wavers in case {each.case} for {each.inputs}: of {each.tries} identical tries {results}"


def _history_lines(about: ExplainedCell) -> Iterator[str]:
    for verdict, cells in groupby(about.cells, key=lambda cell: cell.verdict):
        labels = [cell.kafka_version for cell in cells]
        yield f"  {wording.GLYPHS[verdict]} {verdict}: {spans(labels, labels)}"
    for first in about.insights.firsts:
        if first.requirement == about.requirement and first.bad:
            good, again = with_age(first, first.last_good), with_age(first, first.first_good)
            before = [f"good until {good}" if good else "no release before it is known to be good"]
            after = [f"good again since {again}" if again else "no later release is known to be good"]
            before += filter(None, [unrun_in_words(first.unrun_before)])
            after += filter(None, [unrun_in_words(first.unrun_after)])
            yield f"  First bad release: {with_age(first, first.first_bad)} ({', '.join(before)}); {', '.join(after)}"


def _trend_lines(about: ExplainedCell) -> Iterator[str]:
    key = (about.requirement, about.label)
    points = [point for point in about.insights.trend if (point.requirement, point.kafka_version) == key]
    for point in points[-_RUNS:]:
        counts = f"{point.observations} observations, {point.violations} violations"
        yield f"  {point.run_date} {point.run}: {wording.GLYPHS[point.verdict]} {point.verdict}, {counts}"


def _command_lines(about: ExplainedCell) -> Iterator[str]:
    """Yield commands to paste into a shell; none if no run could show anything."""
    cell = about.cell
    if cell.verdict in ("inapplicable", "untested"):
        return
    target = about.column.selection
    if commands := wording.commands_again(cell, target):
        yield "  Run what saw it again:" if cell.shown else "  Run the row again:"
        yield from (f"      {command}" for command in commands[:_PATHS])
    replayed = dict.fromkeys(shown.evidence for shown in cell.shown if shown.evidence)
    if replayed:
        yield "  Replay a violation, step by step:"
    for folder in list(replayed)[:_PATHS]:
        yield f"      {replay_command(target, _path_text(about, f'{folder}/schedule.json'))}"
    if about.run is None and (replayed or cell.shown):
        yield "  Paths are relative to the run's --conformance-out."


def _path_text(about: ExplainedCell, path: str) -> str:
    return os.path.relpath(about.run / path) if about.run else path
