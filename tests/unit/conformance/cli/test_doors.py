"""The script for `spark-submit`: it is `./kit rejudge`, with its exit code."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from conformance.running.recording.shard_writer import ShardWriter
from history.schema import SCHEMA
from tests.support.played_checks import COLUMN


def ended(monkeypatch: pytest.MonkeyPatch, module: str, *arguments: str) -> object:
    """The exit code of `python -m module`."""
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(SystemExit) as end:
        runpy.run_module(module, run_name="__main__")
    return end.value.code


def test_a_folder_without_shards_is_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "conformance.submit.rejudge", "--out", str(tmp_path)) == 2
    assert "has no shards/" in capsys.readouterr().err


def test_a_run_without_differences_ends_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ShardWriter(
        tmp_path / "shards", "s1", COLUMN, schema=SCHEMA, kit="0", run="r1", worker="gw0", topology="fake",
        profile="smoke", seed=1, rows={}, checks={},
    ).close()  # fmt: skip
    assert ended(monkeypatch, "conformance.submit.rejudge", "--out", str(tmp_path)) == 0
    assert "the same observations, byte for byte" in capsys.readouterr().out
