"""The word list: phrases that this project does not use, looked for in every tracked text file, and the form of docstrings and
of function names, looked for in every Python module.

`python -m tests.language [FILE ...]` prints each finding as `path:line: phrase: what to write instead` and ends with 1 if there
is any. The glossary of CONTRIBUTING.md has the words to use.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUFFIXES = {".py", ".md", ".toml", ".yml", ".yaml", ".java", ".c", ".j2", ".html", ".js", ".css"}
EXEMPT = (
    "tests/language.py",
    "tests/unit/test_language.py",
    "reports/site/vendor/",
)


@dataclass(frozen=True)
class Phrase:
    """A pattern, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


def _phrase(pattern: str, instead: str) -> Phrase:
    return Phrase(re.compile(pattern), instead)


PHRASES = (
    _phrase(r"\bWho\b(?![^.!\n]*\?)", "name the subject: the broker, the voter, the candidate"),
    _phrase(r"(?i)\bwhoever\b", "name the subject, or: any broker that"),
    _phrase(r"(?:\"\"\"|(?<!#)# |[.;] )What\b(?![^.!\n]*\?)", "begin with the thing itself"),
    _phrase(r"(?i)\b(?:nobody|somebody|anybody)\b", "no broker, a user, any client"),
    _phrase(r"(?i)\b(?:he|him|his)\b", "a broker or a client is an it"),
    _phrase(r"(?i)\bso many\b(?! (?:that|as)\b)", "the number itself: n, this many"),
    _phrase(r"(?i)\banew\b", "again, restarted"),
    _phrase(r"(?i)\bis to be had\b", "is available"),
    _phrase(r"(?i)\bas far as (?:any|some)(?:body|one)\b", "name who knows it, and from what"),
    _phrase(r"(?i)\bthe last word\b", "the final confirmation"),
    _phrase(r"(?i)\bthere (?:is|are) of\b", "which exist"),
    _phrase(r"(?i)\bgenuine pairs?\b", "valid fetch position"),
    _phrase(r"(?i)\bepoch files?\b", "leader-epoch-checkpoint"),
    _phrase(r"(?i)\bvacanc(?:y|ies)\b", "time without a leader"),
    _phrase(r"(?i)\b(?:is|are|was|were|stays?) parked\b|\bparked (?:fetch|request|at|until)", "in purgatory, delayed"),
    _phrase(r"(?i)\brotten\b", "corrupt"),
    _phrase(r"\b(?:class|def) \w*(?:[Tt]old|[Ss]aid)\b", "a noun: Exchange, EpochEndOffset, message"),
    _phrase(r"(?i)\b(?:the|a|each|every|no) told\b", "a noun: exchange, answer, message"),
    _phrase(
        r"(?:^|\bfor |, |\()(?<!\")\s*(?:told|said)(?:: [\w\[\], .|]+)? (?:=|in) ", "a noun: answer, output, lines"
    ),
    _phrase(r"\w_(?:anew|whoever)(?:_|\b)|\b_?whoever_", "again; the broker, the leader"),
    _phrase(r"(?i)\bfor ever\b", "forever"),
    _phrase(r"(?i)\bone of whom\b", "a worker is an it: one of which"),
    _phrase(r"(?i)\bof the moment\b", "current"),
    _phrase(r"(?i)\bepoch maps?\b|\bmaps? of epochs\b", "leader epoch cache"),
    _phrase(r"(?i)\b(?:dead|doomed) tails?\b", "uncommitted or diverging suffix"),
)


RECORDED = (
    "all faults are healed and nobody writes any more",
    "nobody leads what {broker} had in {LOST}",
    'b"nobody else\'s"',
)
"""Texts that stored histories hold, and that are looked for in them: they stay as they are."""


@dataclass(frozen=True)
class Finding:
    """One phrase found; `line` counts from 1."""

    path: str
    line: int
    words: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words!r}: {self.instead}"


def found(path: str, text: str) -> Iterator[Finding]:
    """The listed phrases in a text, line by line."""
    for number, line in enumerate(text.splitlines(), start=1):
        if any(recorded in line for recorded in RECORDED):
            continue
        for phrase in PHRASES:
            for match in phrase.pattern.finditer(line):
                yield Finding(path, number, match.group(), phrase.instead)


OPENINGS = frozenset({"Of", "By", "As", "Where", "Without", "Beside", "Whether"})
"""First words with which no docstring begins: the sentence would lack its verb or its noun."""
PARTICIPLE = re.compile(
    r"(?!un|mal)[a-z]+ed|begun|bound|bought|broken|brought|built|caught|chosen|come|done|drawn|driven|found|frozen|given|gone|grown|held|hidden|kept|known|led|"
    r"left|lost|made|meant|met|seen|sent|shown|sought|spoken|taken|taught|thought|told|torn|understood|woken|written"
)
"""Irregular ones are listed if they are nothing else; unfenced or malformed is an adjective."""
NO_PARTICIPLES = frozenset(
    {"feed", "need", "speed", "seed", "shed", "embed", "exceed", "proceed", "succeed", "red", "nested"}
)
"""Words that end like one."""


def misshapen(path: str, text: str) -> Iterator[Finding]:
    """Docstrings that begin with a preposition, handlers without a name, and public functions named by a bare participle."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        opening = (ast.get_docstring(node) or "").partition(" ")[0]
        if opening in OPENINGS:
            yield Finding(path, node.lineno, f"{node.name}: {opening} ...", "begin with a verb, a noun, or: True if")
        if isinstance(node, ast.ClassDef) or path.startswith("tests/"):
            continue
        if node.name == "_":
            yield Finding(path, node.lineno, "def _", "name the handler after what it does")
        elif is_participle(node.name):
            yield Finding(
                path, node.lineno, f"def {node.name}", "a filter, a predicate or an action: is_seen, answers_to, end"
            )


def is_participle(name: str) -> bool:
    """True if a public name is nothing but a participle."""
    return PARTICIPLE.fullmatch(name) is not None and name not in NO_PARTICIPLES


def tracked() -> list[str]:
    """The text files under version control that the list is for, relative to the checkout."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [path for path in listed if Path(path).suffix in SUFFIXES and not path.startswith(EXEMPT)]


def findings(paths: Iterable[str]) -> list[Finding]:
    """The listed phrases and misshapen definitions of some files of the checkout."""
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}
    modules = ((path, text) for path, text in texts.items() if path.endswith(".py"))
    return [
        *(one for path, text in texts.items() for one in found(path, text)),
        *(one for path, text in modules for one in misshapen(path, text)),
    ]


def main(arguments: Sequence[str]) -> int:
    listed = set(tracked())
    paths = [path for path in arguments if path in listed] if arguments else sorted(listed)
    unexpected = findings(paths)
    for finding in unexpected:
        print(finding)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
