"""The page of the rows that no finding names and no mutant must turn red: of their checks only the kit's own tests have shown
that they can fail."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from conformance.catalogue import shipped_rows
from conformance.catalogue.findings import FILE, FOLDER, ROOT, read_finding
from conformance.catalogue.rows import RECORDED, Requirement
from mutants import all_mutants

PAGE = "docs/never-red.md"


def judged_rows() -> list[Requirement]:
    """Return the rows that can turn red, in the order of the catalogue."""
    return [row for row in shipped_rows() if row.level not in RECORDED]


def red_on_a_release() -> set[str]:
    """Return the rows that a released Kafka has broken, by the findings."""
    found = (read_finding(path) for path in sorted((ROOT / FOLDER).glob(f"*/{FILE}")))
    return {id for finding in found if finding.kind != "recorded" for id in finding.rows}


def red_on_a_mutant() -> tuple[set[str], set[str]]:
    """Return the rows that a mutant must turn red, and those that one may, by the table."""
    mutants = all_mutants()
    return {red.id for one in mutants for red in one.red}, {red.id for one in mutants for red in one.may}


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    rows, release, (must, may) = judged_rows(), red_on_a_release(), red_on_a_mutant()
    never = [row for row in rows if row.id not in release | must]
    yield from (
        "# Never red",
        "",
        "The rows that no released Kafka has broken ([all findings](findings/index.md)), and that no broker with a planted bug",
        "must turn red (`mutants/table.toml`). Their checks were seen to fail on fakes, on bad histories or in the miniature",
        "only. Where a mutant *may* turn a row red, the table has a reason why it depends on luck, or on what else has to run.",
        "Rows that are recorded only are left out. This command makes the page:",
        "",
        "```sh",
        "./kit python -m tests.contract.never_red",
        "```",
        "",
        "| | rows | red on a release | red on a mutant | on neither | of these, a mutant may |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    )
    for family, own in groupby(rows, key=_family):
        ids = {row.id for row in own}
        neither = ids - release - must
        counts = (ids, ids & release, ids & must, neither, neither & may)
        yield f"| {family} | {' | '.join(str(len(part)) for part in counts)} |"
    for family, left in groupby(never, key=_family):
        yield from ("", f"## {family}", "", "| row | | kind | a mutant may |", "| --- | --- | --- | --- |")
        yield from (f"| {row.id} | {row.title} | {row.kind} | {'yes' if row.id in may else ''} |" for row in left)


def _family(row: Requirement) -> str:
    return row.id.partition("-")[0]


if __name__ == "__main__":
    Path(PAGE).write_text("\n".join(page()) + "\n", encoding="utf-8")
