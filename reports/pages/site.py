"""Writes the site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.catalogue import Catalogue
from reports.pages.render import ASSETS, asset, put

if TYPE_CHECKING:
    from reports.merge import Merged


def write_site(merged: Merged, catalogue: Catalogue, out: Path, run: Path | None) -> Path:
    """All pages below `out`, deterministic to the byte; gives the path of `index.html`.

    `run` is the local folder that histories and evidence are relative to; None where it can't be linked to.
    """
    for name in ASSETS:
        put(out, f"assets/{name}", asset(name))
    return out / "index.html"
