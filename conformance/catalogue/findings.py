"""Findings: deviations of released versions of Kafka, as they were seen, one folder each below `docs/findings`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from conformance.catalogue.applicability import numbers
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.rows import CatalogueError

ROOT = Path(__file__).parents[2]
FOLDER = "docs/findings"
FILE = "finding.toml"

Kind = Literal["open-bug", "gap", "question", "bug", "recorded"]
"""An open bug or a gap between document and releases; a question to Kafka's committers; a bug that was fixed; no violation."""

ENDS = ".."


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `docs/findings/<name>/finding.toml`; texts are Markdown.

    `rows` are the rows of the catalogue with the cases that are broken. `bad` and `good` are the versions that were run and
    found broken or not: single ones, or the ends of a span of columns. `ticket` is empty if there is none. `readme` is its place
    in README's list of findings, with the text `in_short`; 0 if it is not listed.
    """

    name: str = ""
    title: str
    kind: Kind
    ticket: str
    rows: dict[str, tuple[str, ...]]
    bad: tuple[str, ...]
    good: tuple[str, ...]
    undecided: str = ""
    fixed_in: str = ""
    sure: Literal["always", "race", "seldom"]
    found: str
    command: str
    seen: str
    story: str
    harm: str
    standing: str
    inferred: str
    readme: int = 0
    in_short: str = ""

    @property
    def first_bad(self) -> str:
        return min(ends(self.bad), key=numbers)

    @property
    def first_good(self) -> str:
        """The first version that was run and held after the last broken one; empty if there is none."""
        last = max(numbers(version) for version in ends(self.bad))
        later = [version for version in ends(self.good) if numbers(version) > last]
        return min(later, key=numbers, default="")

    @property
    def is_open(self) -> bool:
        """True if it is a violation that no release has mended, as far as is known."""
        return self.kind in ("open-bug", "gap", "question")

    def tells(self, entry: Deviation) -> bool:
        """True if an entry of the known deviations is about this finding."""
        return (
            entry.finding in ("", self.name)
            and set(entry.cases) <= set(self.rows.get(entry.requirement, ()))
            and (entry.ticket == self.ticket or self.kind == "recorded")
            and any(entry.covers(entry.requirement, version) for version in ends(self.bad))
        )


def ends(spans: tuple[str, ...]) -> list[str]:
    """Return the single versions, and both ends of each span."""
    return [version for span in spans for version in span.split(ENDS)]


def in_spans(version: str, spans: tuple[str, ...]) -> bool:
    """True if a version is one of these, or in one of the spans."""
    return any(numbers(span.split(ENDS)[0]) <= numbers(version) <= numbers(span.split(ENDS)[-1]) for span in spans)


def read_finding(path: Path) -> Finding:
    """Read the file of a finding; raises CatalogueError naming file and field."""
    where = f"{FOLDER}/{path.parent.name}/{FILE}"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        finding = msgspec.convert(table | {"name": path.parent.name}, Finding)
    except FileNotFoundError:
        raise CatalogueError(f"{where} is missing; each folder of {FOLDER} is a finding") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise CatalogueError(f"{where}: {error}") from error
    for field in ("title", "bad", "rows", "found", "seen", "story", "harm", "standing", "inferred", "command"):
        if not getattr(finding, field):
            raise CatalogueError(f"{where}: {field}: is empty")
    return finding


@cache
def shipped_findings() -> tuple[Finding, ...]:
    """Return the findings that came with this kit."""
    return tuple(read_finding(path) for path in sorted((ROOT / FOLDER).glob(f"*/{FILE}")))
