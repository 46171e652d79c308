"""Building and serving the site with MkDocs, strictly."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from click import ClickException
from mkdocs.commands import build, serve
from mkdocs.config import load_config

from conformance.catalogue import CatalogueError
from conformance.catalogue.findings import FOLDER
from protocol.errors import KitError
from reports.track_record import stale_findings

CONFIGURATION = "mkdocs.yml"


class _Warnings(logging.Handler):
    """The warnings of a build."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(re.sub(r"\s+", " ", record.getMessage()))


def build_site(root: Path, out: Path) -> Path:
    """Build the site and return its first page. Raises KitError with the first warning (a dead link, an unlisted page), and for a
    finding that is unusable or whose pages are outdated."""
    _require_findings(root)
    _quiet_theme()
    with _collect_warnings() as warnings:
        try:
            config = load_config(str(root / CONFIGURATION), site_dir=str(out.absolute()), strict=True)
            config.plugins.on_startup(command="build", dirty=False)
            build.build(config)
        except ClickException as error:
            raise KitError(f"docs: {_first(warnings, error.format_message())}") from error
        if warnings.texts:
            raise KitError(f"docs: {_first(warnings, '')}")
    return out / "index.html"


def _require_findings(root: Path) -> None:
    try:
        stale = stale_findings(root) if (root / FOLDER).is_dir() else []
    except CatalogueError as error:
        raise KitError(f"docs: {error}") from error
    if stale:
        raise KitError(f"docs: {stale[0]} is older than its finding. Run ./kit python -m reports.track_record.")


def serve_site(root: Path, port: int) -> None:
    """Serve the site on 127.0.0.1 until Ctrl-C. Raises KitError if the port is taken."""
    _quiet_theme()
    try:
        serve.serve(str(root / CONFIGURATION), dev_addr=f"127.0.0.1:{port}", open_in_browser=False)
    except OSError as error:
        raise KitError(f"docs: port {port} can't be used ({error.strerror}); give another one with --port.") from error
    except ClickException as error:
        raise KitError(f"docs: {error.format_message()}") from error


def _first(warnings: _Warnings, otherwise: str) -> str:
    more = f" (and {len(warnings.texts) - 1} more)" if len(warnings.texts) > 1 else ""
    return f"{warnings.texts[0]}{more}" if warnings.texts else otherwise


@contextmanager
def _collect_warnings() -> Iterator[_Warnings]:
    found, logger = _Warnings(), logging.getLogger("mkdocs")
    logger.addHandler(found)
    try:
        yield found
    finally:
        logger.removeHandler(found)


def _quiet_theme() -> None:
    """Keep the theme from printing its makers' news."""
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    os.environ.setdefault("DISABLE_MKDOCS_2_WARNING", "true")
