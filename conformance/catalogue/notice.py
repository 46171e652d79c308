"""A violation's loss as a user would notice it: from its finding, or else what its row entails."""

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from conformance.catalogue.deviations import Deviation
from conformance.catalogue.findings import FOLDER, shipped_findings

EMPHASIS = re.compile(r"\*(\w[^*]*)\*")
SHIPPED = files("conformance.catalogue") / "notice.toml"


def what_a_user_notices(row: str, known: Sequence[Deviation]) -> list[str]:
    """Return sentences about a violation of this row: those of its known deviations, or else about the loss in
    general."""
    findings = [one for one in shipped_findings() if any(one.tells(entry) for entry in known)]
    found = [(one.harm, one.ticket, f"{FOLDER}/{one.name}") for one in findings]
    found = found or [(entry.reason, entry.ticket, "") for entry in known]
    return [*dict.fromkeys(_notice(*one) for one in found)] or [*filter(None, [kind_of_loss(row)])]


def _notice(text: str, ticket: str, place: str) -> str:
    return f"{_plain_text(text)} Known: {', '.join(filter(None, [ticket or 'no ticket', place]))}."


def _plain_text(markdown: str) -> str:
    """Return a text on one line, without the marks of emphasis."""
    return EMPHASIS.sub(r"\1", " ".join(markdown.split()))


def kind_of_loss(row: str) -> str:
    """Return what can be lost if this row is broken; empty for a row of another catalogue."""
    fitting = [name for name in _words_by_row() if fnmatchcase(row, name)]
    return _words_by_row()[max(fitting, key=lambda name: ("*" not in name, len(name)))] if fitting else ""


@cache
def _words_by_row() -> dict[str, str]:
    table = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))
    return {name: entry["words"] for entry in table["notice"] for name in entry["rows"]}
