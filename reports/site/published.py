"""The published site: `runs/<night>/` for each night, `latest/`, which leads to the newest one, and a page of the nights.

A run's folder has its matrix without `parquet/`, and the evidence and histories to which its pages link. No link leads out of
it but for one to the page of the nights, and none is dead.
"""

import gzip
import html
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from reports.site.render import put_file, read_asset, render_page

RUNS, LATEST, MATRIX, PAGES = "runs", "latest", "matrix", "*.html"

NIGHTS = "../../index.html"
"""The page of the nights, relative to a run's folder: the only page outside to which its pages link."""
_BEFORE_NAV = '<nav aria-label="Pages">'
_ANCHOR = re.compile(r'<a\b[^>]*?\shref="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_LISTING = "index.html"
_COMPRESSED = "matrix.json.gz"
_EXECUTABLE = frozenset({
    ".html", ".htm", ".shtml", ".xhtml", ".xht", ".mht", ".mhtml", ".svg", ".svgz", ".xml", ".xsl", ".xslt", ".js", ".mjs",
})  # fmt: skip
"""The suffixes of files that a browser would run. Evidence holds text from brokers, so no such file is copied."""


class NightLine(NamedTuple):
    """A line of the page of the nights."""

    night: str
    published: str
    green: int
    new: Sequence[str]
    not_seen_again: Sequence[str]
    mended: Sequence[str]
    dead: Sequence[str]
    seconds: float


def copy_run(run: Path, target: Path) -> None:
    """Copy a merged run: its pages, and the files and folders beside them to which they link."""
    shutil.copytree(run / MATRIX, target / MATRIX, ignore=shutil.ignore_patterns("parquet"))
    for page in sorted((target / MATRIX).rglob(PAGES)):
        for linked in _links_of(page.relative_to(target).as_posix(), page.read_text()):
            if not linked.startswith(f"{MATRIX}/"):
                _copy_linked(run, target, linked)
    for page in (target / MATRIX).rglob(PAGES):
        _lead_to_nights(page, target)
    unlink_missing(target)


def _lead_to_nights(page: Path, run: Path) -> None:
    """Have a page name its night, and lead to the page of all nights."""
    up = "../" * (len(page.relative_to(run).parts) - 1)
    link = f'{_BEFORE_NAV}\n    <a href="{up}{NIGHTS}">Night {html.escape(run.name)}</a>'
    page.write_text(page.read_text().replace(_BEFORE_NAV, link, 1))


def _links_of(page: str, text: str) -> Iterator[str]:
    """Yield the paths, in the run's folder, of the local links of a page; one that leads out begins with `..`."""
    for found in _ANCHOR.finditer(text):
        if path := _linked_path(page, found[1]):
            yield path


def _linked_path(page: str, href: str) -> str:
    """Return the path to which a page links, empty for an address and for a place on the page itself."""
    parts = urlsplit(html.unescape(href))
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))


def _copy_linked(run: Path, target: Path, linked: str) -> None:
    source, copy = run / linked, target / linked
    if not source.resolve().is_relative_to(run.resolve()):
        return
    if _is_plain(source):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    elif source.is_dir():
        files = [path for path in sorted(source.rglob("*")) if _is_plain(path)]
        for path in files:
            (copy / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy / path.relative_to(source))
        _write_listing(copy, [path.relative_to(source).as_posix() for path in files])


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.suffix.lower() not in _EXECUTABLE


def _write_listing(folder: Path, files: Sequence[str]) -> None:
    """Write a page that lists a folder's files, since a server of static files makes none."""
    lines = [f'<li><a href="{quote(file)}">{html.escape(file)}</a></li>' for file in files]
    title = html.escape(folder.name)
    put_file(
        folder, _LISTING, f'<!doctype html><meta charset="utf-8"><title>{title}</title><ul>{"".join(lines)}</ul>\n'
    )


def unlink_missing(run: Path) -> None:
    """Replace each local link whose target is not in the run's folder by the link's text."""
    for page in sorted((run / MATRIX).rglob(PAGES)):
        name, text = page.relative_to(run).as_posix(), page.read_text()

        def keep_or_unlink(found: re.Match[str], name: str = name) -> str:
            path = _linked_path(name, found[1])
            is_kept = not path or path == NIGHTS or (not path.startswith("..") and (run / path).exists())
            return found[0] if is_kept else found[2]

        page.write_text(_ANCHOR.sub(keep_or_unlink, text))


# --- the size


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def keep_within(runs: Sequence[Path], bound: int) -> None:
    """Shrink the oldest runs until all of them take at most `bound` bytes: drop evidence first, then pages, never the matrix.

    The newest run, which is the last one, keeps its pages.
    """
    steps: list[tuple[Callable[[Path], None], Path]] = [(drop_evidence, run) for run in runs]
    steps += [(drop_pages, run) for run in runs[:-1]]
    sizes = {run: size_of(run) for run in runs}
    for drop, run in steps:
        if sum(sizes.values()) <= bound:
            return
        drop(run)
        sizes[run] = size_of(run)


def drop_evidence(run: Path) -> None:
    """Remove the evidence and the histories of a run, and the links to them."""
    for part in [path for path in run.iterdir() if path.name != MATRIX]:
        shutil.rmtree(part)
    unlink_missing(run)


def drop_pages(run: Path) -> None:
    """Remove all of a run but its matrix.json, which is compressed to a twentieth."""
    if (run / MATRIX / _COMPRESSED).exists():
        return
    kept = (run / MATRIX / "matrix.json").read_bytes()
    shutil.rmtree(run)
    (run / MATRIX).mkdir(parents=True)
    (run / MATRIX / _COMPRESSED).write_bytes(gzip.compress(kept, mtime=0))


# --- the pages beside the runs


def write_nights(site: Path, nights: Sequence[NightLine]) -> None:
    """Write the page of the nights, the newest first, and `latest/`; their runs are in `site`."""
    put_file(site, "assets/style.css", read_asset("style.css"))
    paths = {night.night: _first_page(site, night.night) for night in nights}
    put_file(
        site,
        "index.html",
        render_page("nights.html.j2", "index.html", nights=nights, paths=paths, bytes=size_of(site / RUNS)),
    )
    shutil.rmtree(site / LATEST, ignore_errors=True)
    for newest in nights[:1]:
        _write_latest(site, newest.night)


def _first_page(site: Path, night: str) -> str:
    """Return the first of a night's pages, or its matrix.json, relative to the site; empty without either."""
    found = (f"{RUNS}/{night}/{MATRIX}/{name}" for name in ("index.html", "matrix.json", _COMPRESSED))
    return next((path for path in found if (site / path).is_file()), "")


def _write_latest(site: Path, newest: str) -> None:
    """Write pages that lead to those of the newest run, and copies of its data."""
    source = site / RUNS / newest / MATRIX
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        name = path.relative_to(source).as_posix()
        if path.suffix == ".html":
            up = "../" * (name.count("/") + 1)
            put_file(site, f"{LATEST}/{name}", _redirect_page(f"{up}{RUNS}/{newest}/{MATRIX}/{name}"))
        elif path.suffix in (".json", ".md", ".xml"):
            put_file(site, f"{LATEST}/{name}", path.read_text())


def _redirect_page(path: str) -> str:
    to = html.escape(path)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={to}">'
        f'<title>The newest night</title><a href="{to}">The newest night</a></html>\n'
    )
