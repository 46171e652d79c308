"""All entries of the census, and the page that is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from conformance.judging.excuses import Evidence
from conformance.judging.registry import EVERY_EVIDENCE
from tests.contract.forgiven import (
    clocks,
    coordinators,
    due,
    groups,
    logs,
    losses,
    metadata_logs,
    producers,
    quorum,
    races,
    rigs,
    topics,
)
from tests.contract.forgiven.entry import Forgiven

MODULES = (clocks, coordinators, due, groups, logs, losses, metadata_logs, producers, quorum, races, topics)
CENSUS: dict[Evidence, Forgiven | rigs.ForgivenByRig] = {
    entry.evidence: entry for module in MODULES for entry in module.ENTRIES
}
CENSUS |= {entry.evidence: entry for entry in rigs.ENTRIES}

PAGE = "docs/forgiveness.md"


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from (
        "# Forgiveness",
        "",
        "A judge leaves an instance undecided only by evidence that is registered in `conformance/judging/excuses.py` or in",
        "`evidence.py` of groups and of the quorum. Each use is counted by its name, row and case; `matrix.md`, the site and",
        "`explain` show the counts. The last column says which near histories a test keeps from being forgiven. The second",
        "command makes this page.",
        "",
        "```sh",
        "./kit explain KIP101-INV-05 --kafka-version 4.3.1",
        "./kit python -m tests.contract.forgiven",
        "```",
    )
    for kind, found in groupby(sorted(EVERY_EVIDENCE, key=lambda one: one.kind), key=lambda one: one.kind):
        yield from ("", f"## {kind.capitalize()}s", "", "| name | evidence | about | from | until | not covered |")
        yield "| --- | --- | --- | --- | --- | --- |"
        yield from map(_line, found)


def _line(one: Evidence) -> str:
    entry = CENSUS.get(one)
    near = ", ".join(sorted(entry.near)) if entry is not None else ""
    return f"| `{one.name}` | {one.shown} | {one.about} | {one.since} | {one.until} | {near} |"
