"""Writing the pages of the findings, and the parts of other pages that are generated from them."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.catalogue.deviations import load_deviations
from conformance.catalogue.findings import FOLDER, Finding
from reports.track_record.load import load_findings
from reports.track_record.pages import finding_page, index_page, readme_list, record_table

BEGIN = "<!-- findings: begin; made by `./kit python -m reports.track_record` -->"
END = "<!-- findings: end -->"
BLOCKS: dict[str, Callable[[Sequence[Finding]], str]] = {"TRACK_RECORD.md": record_table, "README.md": readme_list}
"""The pages with one part generated from the findings, and the function that generates it."""


def write_findings(root: Path) -> None:
    """Write all pages generated from the findings. Raises CatalogueError naming the file and the field."""
    for path, text in _pages(root):
        path.write_text(text, encoding="utf-8")


def stale_findings(root: Path) -> list[str]:
    """Return the outdated pages. Raises CatalogueError naming the file and the field."""
    return [
        str(path.relative_to(root))
        for path, text in _pages(root)
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def _pages(root: Path) -> Iterator[tuple[Path, str]]:
    catalogue = shipped_rows()
    deviations = load_deviations(catalogue)
    findings = load_findings(root, catalogue, deviations)
    for one in findings:
        folder = root / FOLDER / one.name
        yield folder / "index.md", finding_page(one, folder, catalogue, deviations)
    yield root / FOLDER / "index.md", index_page(findings, root)
    for name, made in BLOCKS.items():
        yield root / name, with_block(name, (root / name).read_text(encoding="utf-8"), made(findings))


def with_block(name: str, page: str, block: str) -> str:
    """Return the page with this text between its marks. Raises CatalogueError if it has no marks."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise CatalogueError(f"{name}: it has to have one part between {BEGIN} and {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{block}\n\n{END}", page)
