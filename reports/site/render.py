"""The parts that all pages share: templates, escaping, and links that stay inside the site and the run's own folder."""

import os
import posixpath
import re
import shlex
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from conformance.judging.verdicts import VERDICTS
from history.command import COMMAND, replay_command
from reports.site.views import anchor_of_label, bar_segments, family_anchor
from reports.texts.versions import in_words
from reports.texts.wording import GLYPHS, LEVELS, MEANINGS, TICKETS

ASSETS = ("style.css", "matrix.js", "evidence.css", "evidence.js")
"""The files that are written to `assets/` beside `index.html`."""

POLICY = "default-src 'none'; style-src 'self' file:; script-src 'self' file:; base-uri 'none'; form-action 'none'"
"""The content security policy: only the site's own files. `file:` is for a folder, which may have no origin."""

_HERE = files(__package__)
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

RawLink = Callable[[str], str]
"""A function from a path relative to the run's folder to a link from the page, "" if there is nothing to link to."""


def render_page(template: str, path: str, **facts: Any) -> str:
    """Render one page; `path` is where it will be, relative to `index.html`'s folder."""
    return environment().get_template(template).render(root="../" * path.count("/"), path=path, **facts)


def read_asset(name: str) -> str:
    """Read a file of `assets/`; the whole code may be in a zip archive."""
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def put_file(out: Path, path: str, text: str) -> None:
    target = out / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode("utf-8", "replace"))


def raw_link(out: Path, run: Path | None, page: str) -> RawLink:
    """Return a function that links from `page` to files of the run; without a local run it links nothing."""
    if run is None:
        return lambda path: ""
    folder = Path(os.path.relpath(run.absolute(), (out / page).absolute().parent)).as_posix()

    def link(path: str) -> str:
        kept = posixpath.normpath(path)
        outside = not path or kept.startswith(("/", "..")) or "\\" in kept
        return "" if outside else f"{quote(folder)}/{quote(kept)}"

    return link


def with_visible_controls(value: Any) -> Any:
    """Make terminal control and text-reversing characters visible; the templates' own markup stays."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", value)


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (_HERE / "templates" / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=with_visible_controls,
    )
    shared: dict[str, Any] = {
        "glyphs": GLYPHS, "meanings": MEANINGS, "verdicts": VERDICTS, "tickets": TICKETS, "policy": POLICY, "bar": bar_segments,
        "levels": LEVELS, "kit": COMMAND, "replay": replay_command,
    }  # fmt: skip
    made.globals.update(shared)
    made.filters.update(
        {
            "in_words": in_words,
            "anchor": anchor_of_label,
            "family_anchor": family_anchor,
            "sentence": lambda text: text[:1].upper() + text[1:],
            "shell": shlex.quote,
        }
    )
    return made
