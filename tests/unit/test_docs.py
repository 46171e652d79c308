"""The commands in the pages are ones that the command line takes, and the files that they name are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

from conformance.catalogue.rows import Requirement
from conformance.cli import options
from conformance.cli.app import COMMANDS, kit, main

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = (*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")), *DOCS)
ALL_PAGES = (*PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "TRACK_RECORD.md")))
FOLDERS = re.compile(r"(benchmarks|conformance|docs|fixtures|history|mutants|protocol|reports|strategies|tests)/")
TO_BE_WRITTEN = {"conformance/kip320/absent.py"}
"""Files that a page asks the reader to write."""
COLUMNS = ("kafka_version", "kafka_image", "kafka_home", "label", "judged_as", "kafka_libs")


def commands() -> Iterator[tuple[str, list[str]]]:
    """The page, and the words after `./kit` of each line in its blocks of shell."""
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                for command in line.split(" && "):
                    words = shlex.split(command, comments=True)
                    if words[:1] == ["./kit"] and words[1] in COMMANDS:
                        yield str(page.relative_to(ROOT)), words[1:]


def paths(page: Path) -> Iterator[str]:
    """Words in backticks that begin with a folder of the kit."""
    for path in re.findall(r"`([\w-]+/[\w./*-]*)`", page.read_text()):
        if FOLDERS.match(path) and path not in TO_BE_WRITTEN:
            yield path


FOUND = list(commands())


def test_each_page_has_commands() -> None:
    """But those that only tell."""
    telling = {"docs/api.md", "docs/concepts.md", "docs/never-red.md"}
    assert {page for page, _ in FOUND} == {str(page.relative_to(ROOT)) for page in PAGES} - telling


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900
    assert [line for line in text.splitlines() if len(line) >= 100] == []


def test_the_example_of_a_row_is_one() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    (row,) = msgspec.toml.decode(example)["requirement"]
    assert msgspec.convert(row, Requirement).cases


@pytest.mark.parametrize("words", [words for _, words in FOUND if words[0] == "rows"], ids=" ".join)
def test_a_command_that_needs_no_run_is_run(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("words", [words for _, words in FOUND], ids=lambda words: " ".join(words))
def test_a_command_is_taken(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the columns that it names; builds of a user's own are not there."""
    monkeypatch.setattr(options, "check_home", lambda home: None)
    command = kit.get_command(click.Context(kit), words[0])
    assert command is not None
    given = command.make_context(words[0], words[1:]).params
    named = {name: given[name] for name in COLUMNS if name in given and isinstance(given[name], tuple)}
    assert options.choose(**named).columns


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    assert [path for path in paths(page) if not any(ROOT.glob(path))] == []
