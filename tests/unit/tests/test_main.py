"""When `python -m tests` makes an engine and images ready."""

from __future__ import annotations

import pytest

from tests.__main__ import ROOT, needs_engine, places


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        (["-k", "clock"], True),
        (["tests/live/test_cluster.py"], True),
        (["tests/unit/history", "tests/live/test_cluster.py"], True),
        (["tests/unit/history", "-m", "not drawn"], False),
        (["tests/unit/tests/test_main.py::test_an_engine"], False),
        (["tests/live", "--collect-only", "-q"], False),
        (["--help"], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_engine_is_asked_only_for_what_may_need_one(options: list[str], needs: bool) -> None:
    assert needs_engine(options) == needs


def test_what_is_named_is_run_and_nothing_else() -> None:
    """Without a place pytest gets the folder of all tests."""
    assert places(["-n", "2", "tests/unit/history", "-k", "clock"]) == [ROOT / "tests" / "unit" / "history"]
    assert places(["-k", "clock", "--durations", "5"]) == []
