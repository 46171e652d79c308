"""Loading the findings, with errors that name the file and the field."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from conformance.catalogue import Catalogue, CatalogueError
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.findings import FILE, FOLDER, Finding, ends, in_spans, read_finding
from conformance.catalogue.near import similar_rows


def load_findings(root: Path, catalogue: Catalogue, deviations: Sequence[Deviation]) -> list[Finding]:
    """Read all findings, in the order of their first rows. Raises CatalogueError naming the file and the field."""
    folders = sorted(path for path in (root / FOLDER).iterdir() if path.is_dir() and path.name != "__pycache__")
    found = [read_finding(folder / FILE) for folder in folders]
    for finding in found:
        for field, error in _contradictions(finding, catalogue, deviations):
            raise CatalogueError(f"{FOLDER}/{finding.name}/{FILE}: {field}: {error}")
    for entry in deviations:
        if not any(finding.tells(entry) for finding in found):
            raise CatalogueError(f"known-deviations.toml: {entry.requirement}, {entry.versions}: no finding tells it")
    places = {row.id: place for place, row in enumerate(catalogue)}
    return sorted(found, key=lambda one: places[next(iter(one.rows))])


# --- the catalogue and the known deviations


def _contradictions(
    finding: Finding, catalogue: Catalogue, deviations: Sequence[Deviation]
) -> Iterator[tuple[str, str]]:
    """Yield each wrong field, and the reason."""
    yield from _unknown(finding, catalogue)
    for version in ends(finding.bad):
        if finding.sure == "always" and in_spans(version, finding.good):
            yield "good", f"holds {version}, as `bad` does"
    if bool(finding.readme) != bool(finding.in_short):
        yield "in_short", "goes with `readme`, and only with that"
    if finding.kind != "recorded":
        yield from _contradicting_entries(finding, entries_of(finding, deviations))


def _unknown(finding: Finding, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    for id, cases in finding.rows.items():
        if id not in catalogue:
            yield f"rows.{id}", f"{id!r} is no row of the catalogue. {similar_rows(id)}"
            continue
        known = [case.id for case in catalogue[id].cases]
        if not cases or set(cases) - set(known):
            wrong = ", ".join(sorted(set(cases) - set(known))) or "without a name"
            yield f"rows.{id}", f"there is no case {wrong}; the cases of the row are {', '.join(known)}"


def _contradicting_entries(finding: Finding, entries: Sequence[Deviation]) -> Iterator[tuple[str, str]]:
    """Yield the contradictions between the finding and its entries in known-deviations.toml."""
    for id, cases in finding.rows.items():
        for case in cases:
            if not any(entry.requirement == id and case in entry.cases for entry in entries):
                yield f"rows.{id}", f"known-deviations.toml has no entry for case {case} with ticket {finding.ticket!r}"
    for version in ends(finding.bad):
        if not any(entry.covers(entry.requirement, version) for entry in entries):
            yield "bad", f"no entry of known-deviations.toml about this finding covers {version}"
    for version, entry in product(ends(finding.good), entries):
        if finding.sure == "always" and not entry.race and entry.covers(entry.requirement, version):
            yield "good", f"known-deviations.toml says that {version} breaks {entry.requirement}"


def entries_of(finding: Finding, deviations: Sequence[Deviation]) -> list[Deviation]:
    """Return the entries of the known deviations that are about this finding."""
    return [entry for entry in deviations if finding.tells(entry)]
