"""MkDocs hooks, called while it builds: generated pages, and the repository's own pages among the others."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from conformance.cli.pages.catalogue import catalogue_pages
from conformance.cli.pages.options import options_page
from conformance.cli.pages.sent_requests import requests_page

ROOT = Path(__file__).parents[3]
OWN = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "TRACK_RECORD.md": "project/track-record.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Pages at the root of the repository, with their places in the site."""
FINDINGS = "findings"
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s:#]+)((?:#[^)\s]*)?)\)")


def made_pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of each generated page."""
    yield "options.md", options_page()
    yield "requests.md", requests_page()
    yield from catalogue_pages()
    for name, path in OWN.items():
        yield path, (ROOT / name).read_text(encoding="utf-8")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of findings and of the catalogue in the menu."""
    for entry in config.nav or ():
        if isinstance(entry, dict) and "Findings" in entry:
            entry["Findings"] = [*entry["Findings"], *_finding_pages(Path(config.docs_dir))]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in made_pages():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Turn the repository's links into the site's."""
    return move_links(markdown, page.file.src_uri, {file.src_uri for file in files})


def move_links(markdown: str, path: str, pages: set[str]) -> str:
    """Return the text with the repository's links turned into the site's; links to files that the site lacks keep only their
    text."""
    folder = posixpath.dirname({inside: name for name, inside in OWN.items()}.get(path, f"docs/{path}"))

    def relink(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        inside = OWN.get(target, target.removeprefix("docs/"))
        if inside in pages:
            return f"[{match[1]}]({posixpath.relpath(inside, posixpath.dirname(path) or '.')}{match[3]})"
        is_outside = not target.startswith("docs/") and (ROOT / target).exists()
        return match[1] if is_outside else match[0]

    return LINK.sub(relink, markdown)


def _finding_pages(docs: Path) -> Iterator[dict[str, str]]:
    for page in sorted((docs / FINDINGS).glob("*/*.md")):
        lines = page.read_text(encoding="utf-8").splitlines()
        title = next(line[2:] for line in lines if line.startswith("# "))
        yield {title: page.relative_to(docs).as_posix()}
