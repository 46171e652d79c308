"""Pictures of a site for the README: `python -m tests.support.screenshots SITE OUT` writes matrix.png and evidence.png."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.browser import DESKTOP, Page, Site, chromium

ROWS = 14
"""The number of rows of the matrix in the picture."""
SCALE = 2


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or not Path(arguments[0], "index.html").is_file():
        print("usage: python -m tests.support.screenshots SITE OUT, where SITE holds index.html", file=sys.stderr)
        return 2
    folder, out = Path(arguments[0]).absolute(), Path(arguments[1])
    out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        site = Site(browser, folder)
        with site.visit(scale=SCALE) as page:
            rows = page.locator("table.matrix tr.row:visible")
            take(page, rows.nth(min(ROWS, rows.count()) - 1).evaluate(_BOTTOM), out / "matrix.png")
        for found in site.pages("evidence/*/*.html")[:1]:
            with site.visit(found, scale=SCALE) as page:
                take(page, page.locator("figure.timeline").evaluate(_BOTTOM), out / "evidence.png")
    return 0


def take(page: Page, bottom: float, target: Path) -> None:
    """Take a picture from the top of the page down to `bottom`."""
    clip = {"x": 0, "y": 0, "width": DESKTOP[0], "height": bottom}
    page.screenshot(path=target, full_page=True, clip=clip)  # type: ignore[arg-type]
    print(target)


_BOTTOM = "node => Math.ceil(node.getBoundingClientRect().bottom + scrollY) + 8"

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
