"""A page for each KIP: statement, cases, source and expectations of each row."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from conformance.catalogue import Requirement, shipped_rows
from conformance.catalogue.quotes import quotes_by_row
from conformance.core.registry import checks_by_row, every_check

FOLDER = "catalogue"
LEVELS = {
    "must": "the document asks for it",
    "should": "the document recommends it",
    "landed": "Kafka does it, though the document says less or otherwise",
    "gap": "the document asks for it, and no release did it when the row was written",
    "informational": "recorded, never judged",
    "later": "the promise of a later KIP: recorded, never judged",
    "law": "any Kafka keeps it, whatever the KIP",
}


def page_of(kip: int) -> str:
    """Return the path of a KIP's page; 0 stands for the general laws."""
    return f"{FOLDER}/kip-{kip}.md" if kip else f"{FOLDER}/general-laws.md"


def catalogue_pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of each KIP's page, and of the page that lists them."""
    checks = {row: len(of_row) for row, of_row in checks_by_row().items()}
    families = [(kip, list(rows)) for kip, rows in groupby(sorted(shipped_rows(), key=_by_kip), _by_kip)]
    yield f"{FOLDER}/index.md", "\n".join(_index(families, checks)) + "\n"
    for kip, rows in families:
        yield page_of(kip), "\n".join(_page(rows, checks)) + "\n"


def _by_kip(row: Requirement) -> int:
    return row.kip


def _index(families: Sequence[tuple[int, Sequence[Requirement]]], checks: dict[str, int]) -> Iterator[str]:
    yield from ("# Catalogue", "", "A row is one sentence that can be tested. Its id never changes.", "")
    yield from ("| | rows | without a check |", "|---|---|---|")
    for kip, rows in families:
        untested = sum(row.id not in checks for row in rows)
        yield f"| [{rows[0].family}]({page_of(kip).removeprefix(f'{FOLDER}/')}) | {len(rows)} | {untested or '–'} |"
    yield from ("", "| level | |", "|---|---|", *(f"| {level} | {about} |" for level, about in LEVELS.items()))


def _page(rows: Sequence[Requirement], checks: dict[str, int]) -> Iterator[str]:
    yield f"# {rows[0].family}"
    yield ""
    yield from ("| row | | level |", "|---|---|---|")
    yield from (f"| [{row.id}](#{row.id.lower()}) | {_cell(row.title)} | {row.level} |" for row in rows)
    own = _own_checks()
    for row in rows:
        yield from _row(row, checks.get(row.id, 0), own.get(row.id, []))


def _row(row: Requirement, checks: int, own: Sequence[str]) -> Iterator[str]:
    yield from ("", f"## {row.id}", "", f"**{row.title}.** {row.statement}", "")
    yield f"{row.level}, {row.priority}, {row.kind}. Source: {row.section}. Applies to {_applies(row.applies, row.needs)}."
    if quote := quotes_by_row().get(row.id):
        yield from ("", f"> “{quote.text}” ({quote.source})")
    yield from ("", "| case | about | applies to |", "|---|---|---|")
    for case in row.cases:
        yield f"| {case.id} | {_cell(case.about)} | {_applies(case.applies, case.needs)} |"
    if row.expectations:
        yield from ("", "| expected | from, to | promised by |", "|---|---|---|")
    for one in row.expectations:
        yield f"| {_cell(one.about)} | {_applies(one.versions, one.needs)} | {one.promised or '–'} |"
    yield from ("", _checks_in_words(checks, own))


def _checks_in_words(checks: int, own: Sequence[str]) -> str:
    if not checks:
        return "The kit has no check for this row yet: it is `untested`."
    if not own:
        return f"A judge looks at it in the histories of {checks} checks."
    return f"Checked by {', '.join(f'`{name}`' for name in own)}."


def _own_checks() -> dict[str, list[str]]:
    """Return the checks written for each row, without those that just see it in their histories."""
    found: dict[str, list[str]] = {}
    for check in every_check().values():
        for row in getattr(check, "own_rows", ()):
            found.setdefault(row, []).append(check.id)
    return found


def _applies(versions: Sequence[str], needs: Sequence[str]) -> str:
    """Return the versions and levels of a row or case; a dash for a case with those of its row."""
    return ", ".join(f"`{text}`" for text in [*versions, *needs]) or "–"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
