"""Output besides the site: Markdown and terminal."""

import io
import re
from typing import Any

import pytest

from reports.matrix import Matrix, Pooled
from reports.texts import terminal
from reports.texts.markdown import markdown
from tests.support.sample_matrix import ROW, all_cases, checks, matrix, violation

EVIL = "</td><script>alert(1)</script><img src=x onerror=alert(2)> | `x` \x1b[31m\"'&"
V = "4.3.1"


@pytest.fixture(scope="module")
def evil() -> Matrix:
    """A matrix in which everything that a shard brings tries to break out."""
    fields = {
        "label": EVIL,
        "detail": EVIL,
        "check": EVIL,
        "example": EVIL,
        "evidence": "javascript:alert(3)",
        "case": EVIL,
    }
    pooled = Pooled(
        cases=all_cases(V, violated=2),
        checks=[checks(V, trouble=EVIL, errors=1)],
        violations=[violation(V, **fields)],
        paths=[{"kafka_version": V, "requirement": ROW, "path": f"evidence/{EVIL}", "place": 1}],
        faults=[{"kafka_version": V, "requirement": ROW, "fault": EVIL, "injected": 1, "witnessed": 1, "healed": 1}],
    )
    facts: dict[str, Any] = {
        "topology": EVIL,
        "profile": EVIL,
        "run": EVIL,
        "kit": EVIL,
        "image_id": EVIL,
        "ranges": {"Fetch": 17, "x." + EVIL: 1},
    }
    return matrix(pooled, V, **facts)


def test_what_is_shown_is_deterministic(evil: Matrix) -> None:
    assert markdown(evil) == markdown(evil)


def test_the_terminal_gets_counts_and_cells_and_no_control_characters(evil: Matrix) -> None:
    out = io.StringIO()
    terminal.show(evil, out)
    assert "\x1b" not in out.getvalue()
    assert re.search(rf"✗ violated +4\.3\.1  {ROW}: case .*; \d+ observations break the row", out.getvalue())
    assert re.search(r"4\.3\.1 +1 ", out.getvalue())
