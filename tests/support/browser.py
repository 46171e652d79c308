"""A real browser for tests: Debian's Chromium, headless, driven by Playwright. A page that loads anything from
elsewhere fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
DESKTOP, PHONE = (1440, 900), (390, 844)
PATIENCE = 120_000.0
"""The most milliseconds that a page may take; the browser may share its machine with clusters under test."""
Scheme = Literal["light", "dark"]


class Site(msgspec.Struct, frozen=True):
    """A site in a folder, and the browser that shows it."""

    browser: Browser
    folder: Path

    def url(self, page: str) -> str:
        """Return the address of a page, given its path in the site, such as `index.html#?on=4.3.1`."""
        path, mark, anchor = page.partition("#")
        return f"{(self.folder / path).as_uri()}{mark}{anchor}"

    def pages(self, pattern: str = "**/*.html") -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.glob(pattern))

    @contextmanager
    def visit(
        self,
        page: str = "index.html",
        *,
        size: tuple[int, int] = DESKTOP,
        scheme: Scheme = "light",
        javascript: bool = True,
        scale: float = 1,
    ) -> Iterator[Page]:
        """Yield the loaded page; fail at the end if it wrote to its console or loaded anything from outside the
        site."""
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            java_script_enabled=javascript,
            device_scale_factor=scale,
        )
        watched = _Watched(self.folder)
        try:
            context.on("request", watched.asked)
            context.on("console", watched.on_console)
            context.on("weberror", lambda error: watched.wrong.append(str(error.error)))
            context.set_default_timeout(PATIENCE)
            shown = context.new_page()
            shown.goto(self.url(page))
            yield shown
        finally:
            context.close()
        assert watched.wrong == [], f"{page}: {watched.wrong}"


class _Watched:
    """The forbidden actions of pages."""

    def __init__(self, folder: Path) -> None:
        self.wrong: list[str] = []
        self._folder = folder

    def asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        inside = parts.scheme == "file" and Path(unquote(parts.path)).resolve().is_relative_to(self._folder.resolve())
        if not inside:
            self.wrong.append(f"asked for {request.url}")

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"console {message.type}: {message.text}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield the browser; skip the test if there is none."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there, and the site is tried in a real browser: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def contrast(page: Page, selector: str) -> float:
    """Return the lowest contrast (WCAG) between visible text and its background, over the elements of the selector."""
    found: Any = page.evaluate(_CONTRAST, selector)
    assert found is not None, f"nothing visible is {selector!r}"
    return float(found)


_CONTRAST = """(selector) => {
  const numbers = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * (top[3] ?? 1) + under[i] * (1 - (top[3] ?? 1)));
  const behind = (node) => {
    if (!node) return [255, 255, 255];
    const own = numbers(getComputedStyle(node).backgroundColor);
    return (own[3] ?? 1) < 1 ? over(own, behind(node.parentElement)) : own;
  };
  const light = (color) => {
    const [r, g, b] = color.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const nodes = [...document.querySelectorAll(selector)].filter((node) => node.getClientRects().length);
  return nodes.length ? Math.min(...nodes.map((node) => {
    const ground = behind(node);
    const [a, b] = [light(over(numbers(getComputedStyle(node).color), ground)), light(ground)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  })) : null;
}"""

__all__ = ["DESKTOP", "PHONE", "Browser", "Error", "Page", "Site", "chromium", "contrast"]
