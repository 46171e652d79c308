"""`./kit matrix` in this process: with fake runs of columns, no engine, and a merge that only records its arguments."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.cli.matrix import matrix
from conformance.cli.means import Means
from conformance.running.settings import OPTIONS
from history.shards import read_shards
from tests.support.fake_column_run import ROW

FAKE = (sys.executable, "-m", "tests.support.fake_column_run")
ROOT = Path(__file__).parents[2]
ALL_COLUMNS = ("3.8.1", "3.9.2", "4.3.1")


class Kit:
    """The command, called with the options of `./kit matrix`; returns its exit code."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out = folder / "out"
        self.merged: list[tuple[Path, list[str]]] = []
        self.merging: dict[str, list[str]] = {}
        """The verdict of a row by column, which the merge writes; it writes nothing if this is empty."""
        self.prepared: list[str] = []
        self._monkeypatch = monkeypatch

    def __call__(self, *options: str, versions: Sequence[str] = ALL_COLUMNS, **columns: list[str]) -> int:
        """Run the command; `columns` have names such as `v3_9_2`."""
        named = {name.removeprefix("v").replace("_", "."): words for name, words in columns.items()}
        self._monkeypatch.setenv("FAKE_COLUMNS", json.dumps(named))
        selected = [text for version in versions for text in ("--kafka-version", version)]
        means = Means(prepare=self.prepared.extend, pytest=FAKE, merge=self._merge)
        given = ["--conformance-out", str(self.out), *selected, *options]
        code: int = matrix.main(given, standalone_mode=False, obj=means)
        return code

    def _merge(self, out: Path, options: Sequence[str]) -> int:
        self.merged.append((out, list(options)))
        cells = [
            {"requirement": ROW, "kafka_version": label, "verdict": verdict}
            for verdict, labels in self.merging.items()
            for label in labels
        ]
        if cells:
            (out / "matrix").mkdir(exist_ok=True)
            read = {"schema": 1, "kafka_versions": [cell["kafka_version"] for cell in cells], "cells": cells}
            (out / "matrix" / "matrix.json").write_text(json.dumps(read))
        return 0

    @property
    def calls(self) -> list[str]:
        """The columns that were run, in the order in which they began."""
        return [column for column, _ in self.given]

    @property
    def given(self) -> list[tuple[str, list[str]]]:
        file = self.out.parent / "calls.jsonl"
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def columns(self) -> list[str]:
        """The columns of the shards that are not put aside."""
        return sorted(s.header.column.label for s in read_shards(self.out / "shards") if s.header)

    @property
    def aside(self) -> list[str]:
        return sorted(p.stem.partition("-gw0-")[2] for p in self.out.glob("earlier/*/shards/*.jsonl"))


def fresh_kit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """Return a kit that takes no options from the environment."""
    for option in OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.chdir(ROOT)
    return Kit(folder, monkeypatch)
