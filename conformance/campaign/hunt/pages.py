"""A hunt's pages: a finding's `report.md`, which stands alone, and `README.md`, the list of findings with totals."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conformance.campaign.hunt.findings import HuntFinding, Sighting
from conformance.campaign.hunt.rounds import FAILING
from conformance.campaign.hunt.state import HUNT, Hunt
from conformance.campaign.hunt.totals import Totals
from conformance.campaign.watching import minutes_text
from conformance.catalogue import shipped_rows
from conformance.catalogue.notice import what_a_user_notices
from conformance.judging.narration import step_in_words
from conformance.running.evidence.course import step_descriptions
from conformance.running.evidence.report import HAPPENED, NOTICED, paragraphs, section_of
from history.command import COMMAND, replay_command
from history.schema import decode
from history.violation import VIOLATION, FiledViolation

FINDINGS = "findings"


# --- a finding


class FoundEvidence(NamedTuple):
    """The files of a finding's evidence, and what they say: what a user would notice, and what happened."""

    files: list[str]
    notices: list[str]
    happened: str

    @classmethod
    def read(cls, folder: Path, row: str) -> "FoundEvidence":
        filed, report = folder / VIOLATION, folder / "report.md"
        notices = (
            decode(filed.read_bytes(), FiledViolation, filed).notices
            if filed.exists()
            else what_a_user_notices(row, [])
        )
        happened = section_of(report.read_text(), HAPPENED) if report.exists() else ""
        return cls(sorted(path.name for path in folder.iterdir()), notices, happened)


def report_of(finding: HuntFinding, command: str, since: Sequence[str], evidence: FoundEvidence) -> str:
    """Return a finding's page, in the form of a violation's. `command` replays the schedule, and `since` are the changes
    over the releases."""
    parts = [
        _head_lines(finding),
        [f"## {NOTICED}", "", *paragraphs(evidence.notices)],
        _step_lines(finding),
        [f"## {HAPPENED}", "", evidence.happened, ""] if evidence.happened else [],
        ["## Where it was seen", "", *_column_lines(finding)],
        ["## Since when", "", *([f"- {line}" for line in since] or ["The releases were not searched."]), ""],
        ["## How to see it again", "", f"    {command}", ""],
        ["## Everything else", "", *(f"- [{name}](evidence/{name})" for name in evidence.files), ""],
    ]
    return "\n".join(line for part in parts for line in part)


def _head_lines(finding: HuntFinding) -> list[str]:
    row = shipped_rows()[finding.row]
    where = f"Case: {finding.source.case}. Check: {finding.schedule.check}."
    return [
        f"# {row.id}: {row.title}{_label_text(finding)}",
        "",
        *paragraphs([finding.detail.partition("\n")[0] or finding.label or row.title, where, _status_text(finding)]),
        *paragraphs([f"{row.statement.strip()} ({row.family}, {row.section}; level {row.level})"], "> "),
    ]


def _label_text(finding: HuntFinding) -> str:
    return f" ({finding.label})" if finding.label else ""


def _status_text(finding: HuntFinding) -> str:
    reasons = list(dict.fromkeys(sighting.known for sighting in finding.sightings if sighting.known))
    if not reasons:
        return "**Not known**: no entry of `known-deviations.toml` is about this row, these versions and this schedule."
    known = " ".join(reasons).removesuffix(".")
    if finding.is_known:
        other = (
            ""
            if finding.is_settled
            else " The shrunk schedule has other faults than are known, so it is replayed as a new one."
        )
        return f"**Known**: {known}. This schedule may still show another bug that breaks the same row.{other}"
    new = ", ".join(dict.fromkeys(sighting.column for sighting in finding.sightings if not sighting.known))
    return f"**Known on some versions** ({known}), not known on {new}."


def _column_lines(finding: HuntFinding) -> list[str]:
    """Return a line per column: its sightings, and its replays on the sighting's cluster and on a fresh one."""
    sightings = _by_column(finding)
    columns = list(dict.fromkeys([*sightings, *finding.replays]))
    lines = [
        f"| {column} | {_rounds_text(sightings[column])} | {_shrink_text(sightings[column])} | {_replays_of(finding, column)} |"
        for column in columns
    ]
    head = ["| Kafka | seen in | replays where it was found | replays on a fresh cluster |", "|---|---|---|---|"]
    return [*head, *lines, ""]


def _by_column(finding: HuntFinding) -> Mapping[str, list[Sighting]]:
    found: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in finding.sightings:
        found[sighting.column].append(sighting)
    return found


def _rounds_text(sightings: Sequence[Sighting]) -> str:
    each = dict.fromkeys(f"round {one.round} (seed {one.seed})" for one in sightings)
    return ", ".join(each) or "no round"


def _shrink_text(sightings: Sequence[Sighting]) -> str:
    shrunk = next((one for one in sightings if one.is_shrunk), None)
    return f"{shrunk.seen} of {shrunk.tries}" if shrunk else "not shrunk" if sightings else ""


_NO_REPLAYS = {False: "none yet", True: "none, since it is known"}


def _replays_of(finding: HuntFinding, column: str) -> str:
    replays = finding.replays.get(column)
    return str(replays) if replays else _NO_REPLAYS[finding.is_settled]


def _step_lines(finding: HuntFinding) -> list[str]:
    explained = step_descriptions(finding.schedule.check)
    lines = [f"{n}. {step_in_words(step)}" for n, step in enumerate(finding.schedule.steps, start=1)]
    kinds = dict.fromkeys(str(step.get("do", "")) for step in finding.schedule.steps)
    meanings = [f"- {kind}: {explained[kind]}" for kind in kinds if kind in explained]
    title = "## The shrunk schedule" if finding.source.is_shrunk else "## The schedule, which could not be shrunk"
    return [title, "", *lines, "", *(["The steps:", "", *meanings, ""] if meanings else [])]


def replay_of_finding(hunt: Hunt, finding: HuntFinding, schedule: Path) -> str:
    """Return the command that replays the finding's schedule."""
    found = hunt.rounds[finding.source.round - 1]
    return replay_command([*found.selection, *found.options], str(schedule))


# --- the list of all


def index_of(hunt: Hunt, reached: Sequence[str] = ()) -> str:
    """Return a hunt's first page. `reached` are the lines about the coverage of all rounds' examples."""
    return "\n".join(
        [
            "# Hunt",
            "",
            f"{len(hunt.rounds)} rounds in {len(hunt.nights)} runs of `{COMMAND} hunt`, {minutes_text(hunt.seconds)} minutes. "
            f"State: [{HUNT}]({HUNT}); schedules that are tried first: [{FAILING}]({FAILING}).",
            "",
            *_finding_list("Findings that are not known", [one for one in hunt.findings if not one.is_known]),
            *_finding_list("Known findings", [one for one in hunt.findings if one.is_known]),
            *_column_totals(hunt.totals()),
            *_total_lines(sum(hunt.totals().values(), Totals())),
            *_reached_section(reached),
        ]
    )


def _finding_list(title: str, findings: Sequence[HuntFinding]) -> list[str]:
    if not findings:
        return [f"## {title}", "", "None.", ""]
    head = ["| finding | | sightings | replays on a fresh cluster |", "|---|---|---|---|"]
    return [f"## {title}", "", *head, *map(_finding_link, findings), ""]


def _finding_link(finding: HuntFinding) -> str:
    link = f"[{finding.name}]({FINDINGS}/{finding.name}/report.md)"
    sightings = "; ".join(f"{column}: {_evidence_links(seen)}" for column, seen in _by_column(finding).items())
    known = " ".join(dict.fromkeys(one.known for one in finding.sightings if one.known and len(one.known) < 20))
    title = " ".join(filter(None, [f"{shipped_rows()[finding.row].title}{_label_text(finding)}", known]))
    replays = "; ".join(f"{column}: {one}" for column, one in finding.replays.items())
    return f"| {link} | {title} | {sightings} | {replays or _NO_REPLAYS[finding.is_settled]} |"


def _evidence_links(sightings: Sequence[Sighting]) -> str:
    return ", ".join(f"[round {one.round}]({one.evidence}) seed {one.seed}" for one in sightings)


def _column_totals(totals: Mapping[str, Totals]) -> Iterator[str]:
    yield from ("## Versions", "", "| Kafka | examples | judged | steps | faults | errors | unhealed clusters |")
    yield "|---|---|---|---|---|---|---|"
    for column, one in totals.items():
        errors = one.examples.get("error", 0)
        yield f"| {column} | {one.count} | {one.judged_examples} | {one.steps} | {_fault_text(one)} | {errors} | {one.unhealed} |"
    yield ""


def _fault_text(one: Totals) -> str:
    return f"{sum(one.witnessed.values())} witnessed of {sum(one.injected.values())} injected"


def _reached_section(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("### Reached", "", *(f"- {line}" for line in lines), "")


def _total_lines(one: Totals) -> Iterator[str]:
    """Yield a list for each kind of count that is not empty."""
    faults = {name: f"{one.witnessed.get(name, 0)} witnessed of {count}" for name, count in one.injected.items()}
    yield from (f"## All together: {one.count} examples, {one.steps} steps", "", f"{_fault_text(one)} faults.", "")
    tables: Sequence[tuple[str, Mapping[str, int | str]]] = (
        ("Faults", faults),
        ("Excuses of judges", one.excuses),
        ("Examples that ended in trouble", one.errors),
    )
    for title, counts in tables:
        if counts:
            yield from (f"### {title}", "", *(f"- {name}: {count}" for name, count in counts.items()), "")
