"""The pages generated from the findings, as Markdown."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.catalogue import Catalogue
from conformance.catalogue.applicability import numbers
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.findings import ENDS, FOLDER, Finding
from reports.texts.versions import in_words
from reports.track_record.load import entries_of

MADE = "<!-- Made from finding.toml by `./kit python -m reports.track_record`. -->"
README_WIDTH = 98
KINDS = {
    "open-bug": "Open, in the newest release that was run",
    "gap": "Asked for by the document, and done by no release",
    "question": "Questions to Kafka",
    "bug": "Fixed since",
    "recorded": "Recorded, no violation",
}
SURE = {
    "always": "Deterministic: each try shows it.",
    "race": "A race: a try may miss it, and a version without it may still have it.",
    "seldom": "Seen seldom.",
}
RUN = re.compile(r"exit (\d+), .*after (\d+) s")


# --- the page of a finding


def finding_page(finding: Finding, folder: Path, catalogue: Catalogue, deviations: Sequence[Deviation]) -> str:
    """Return the page of one finding; `folder` may have a script, its output, and the text of a ticket."""
    parts = [
        MADE,
        f"# {finding.title}",
        "\n".join(_facts(finding)),
        *(part for title, text in _texts(finding) for part in (f"## {title}", text.strip())),
        *_how_to_try(finding, folder),
        "## With the kit",
        f"```sh\n{finding.command}\n```",
        "## Rows",
        *_rows(finding, catalogue),
        *_entries(entries_of(finding, deviations)),
    ]
    return "\n\n".join(parts) + "\n"


def _facts(finding: Finding) -> Iterator[str]:
    yield "| | |\n|---|---|"
    yield f"| broken in | {_spans(finding.bad)} |"
    yield f"| not in | {_spans(finding.good) or '–'} |"
    if finding.undecided:
        yield f"| undecided, or not run | {finding.undecided} |"
    yield f"| first bad | {finding.first_bad} |"
    yield f"| first good | {_first_good(finding)} |"
    yield f"| ticket | {_ticket(finding)} |"
    if finding.fixed_in:
        yield f"| fixed in | {finding.fixed_in} |"
    yield f"| found by | {finding.found} |"
    yield f"| how sure | {SURE[finding.sure]} |"


def _texts(finding: Finding) -> Iterator[tuple[str, str]]:
    yield "What happens", finding.story
    yield "What a user loses", finding.harm
    yield "How often it was seen", finding.seen
    yield "What is known about it", finding.standing
    yield "What was inferred", finding.inferred


def _how_to_try(finding: Finding, folder: Path) -> Iterator[str]:
    """Yield how to try the finding without the kit, if that is possible, and the result."""
    if not (folder / "reproduce.py").is_file():
        return
    newest = finding.bad[-1].split(ENDS)[-1]
    yield "## Try it without the kit"
    yield (
        "[reproduce.py](reproduce.py) takes Docker, Python and kafka-python (3.0 or later). It ends with 1 if the deviation was "
        "seen, with 0 if not, and with 3 if it could not be tried."
    )
    yield (
        f"```sh\npip install kafka-python\npython {FOLDER}/{finding.name}/reproduce.py --image apache/kafka:{newest}\n```"
    )
    if (folder / "ticket.md").is_file():
        yield "What a ticket could say: [ticket.md](ticket.md)."
    runs = sorted((folder / "output").glob("*.txt"), key=lambda path: numbers(path.stem), reverse=True)
    if runs:
        yield "\n".join(_runs(runs))
    yield from _outputs(runs)


def _runs(runs: Sequence[Path]) -> Iterator[str]:
    yield "| version | exit code | seconds |\n|---|---|---|"
    for path in runs:
        match = _match_ending(path)
        yield f"| {path.stem} | {match[1]} | {match[2]} |"


def _outputs(runs: Sequence[Path]) -> Iterator[str]:
    """Yield the newest output in which the deviation was seen, and the newest in which it was not."""
    for code in ("1", "0"):
        path = next((path for path in runs if _match_ending(path)[1] == code), None)
        if path:
            yield f"On {path.stem}:\n\n```text\n{path.read_text().strip()}\n```"


def _match_ending(output: Path) -> re.Match[str]:
    """Match the exit code and the seconds of a run."""
    match = RUN.search(output.read_text().strip().splitlines()[-1])
    assert match, f"{output} does not end with the line of a run"
    return match


def _rows(finding: Finding, catalogue: Catalogue) -> Iterator[str]:
    for id, cases in finding.rows.items():
        row = catalogue[id]
        statement = " ".join(row.statement.split())
        yield f"**{id}**, {row.title} (level {row.level}), broken in {', '.join(f'`{case}`' for case in cases)}:"
        yield f"> {statement}"


def _entries(entries: Sequence[Deviation]) -> Iterator[str]:
    """Yield the known deviations of the finding, which a matrix shows as marks."""
    if not entries:
        return
    yield "## Marked in a matrix as"
    yield "\n".join(
        f"- {entry.requirement} ({', '.join(entry.cases)}), {', '.join(map(in_words, entry.versions))}: "
        f"{' '.join(entry.reason.split())}"
        for entry in entries
    )


# --- tables


def index_page(findings: Sequence[Finding], root: Path) -> str:
    """Return the page that lists all findings by their kind."""
    parts = [MADE, "# Findings", "What the kit found in released versions of Kafka, one page each."]
    for kind, title in KINDS.items():
        parts += [f"## {title}", "\n".join(_index(findings, kind, root))]
    return "\n\n".join(parts) + "\n"


def _index(findings: Sequence[Finding], kind: str, root: Path) -> Iterator[str]:
    yield "| finding | first bad | first good | ticket | without the kit |\n|---|---|---|---|---|"
    for one in findings:
        if one.kind == kind:
            script = f"{one.name}/reproduce.py"
            tried = f"[reproduce.py]({script})" if (root / FOLDER / script).is_file() else "–"
            yield f"| [{one.title}]({one.name}/index.md) | {one.first_bad} | {_first_good(one)} | {_ticket(one)} | {tried} |"


def record_table(findings: Sequence[Finding]) -> str:
    """Return the table of TRACK_RECORD."""
    lines = [
        "| rows | violation | red | satisfied | undecided, or not run | ticket | standing |\n|---|---|---|---|---|---|---|"
    ]
    for one in findings:
        rows = ", ".join(one.rows)
        title = f"[{one.title}]({FOLDER}/{one.name}/index.md)"
        standing = f"fixed in {one.fixed_in}" if one.fixed_in else one.kind.replace("-", " ")
        tried = f"{_spans(one.bad)} | {_spans(one.good) or '–'} | {one.undecided or '–'}"
        lines.append(f"| {rows} | {title} | {tried} | {one.ticket or '–'} | {standing} |")
    return "\n".join(lines)


def readme_list(findings: Sequence[Finding]) -> str:
    """Return README's list of findings."""
    chosen = sorted((one for one in findings if one.readme), key=lambda one: one.readme)
    lines = [f"- {one.in_short} ([{one.ticket or 'no ticket known'}]({FOLDER}/{one.name}/index.md))" for one in chosen]
    return "\n".join(_wrap(f"{line}{'.' if line is lines[-1] else ';'}") for line in lines)


def _wrap(line: str) -> str:
    return textwrap.fill(line, README_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _first_good(finding: Finding) -> str:
    return (finding.first_good or "–") + (" (race)" if finding.sure == "race" else "")


def _ticket(finding: Finding) -> str:
    ticket = finding.ticket
    return f"[{ticket}](https://issues.apache.org/jira/browse/{ticket})" if ticket else "none known to us"


def _spans(spans: Sequence[str]) -> str:
    return ", ".join(span.replace(ENDS, "–") for span in spans)
