"""No file of source or tests has more lines than fit in the head."""

from __future__ import annotations

from pathlib import Path

from tests.language import ROOT, tracked

MAX_LINES = 600


def test_no_module_is_too_long() -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in tracked() if Path(path).suffix == ".py"}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}
