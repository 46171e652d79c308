"""Faults have one way into a history: as a fault of the catalogue, with its effects."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.core.faulting import record_fault
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.kinds.process import Freeze, Kill, ProcessFault, Stop
from fixtures.tape import RecordedPhase
from history.events import Phase
from tests.support.fake_faults import FakeLog

ROOT = Path(__file__).parents[4]
RECORDERS = {"fixtures/faults/base/injector.py", "conformance/core/faulting.py"}
MAKER = "fixtures/faults/base/fault.py"
"""It makes each phase of a Fault, with the fault's own tag and effects."""


def calls(path: Path, name: str) -> Iterator[int]:
    """The lines that call a function, a class or a method of this name."""
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", None)) == name:
            yield call.lineno


def files_that_call(name: str) -> set[str]:
    folders = [ROOT / "fixtures", *(path for path in (ROOT / "conformance").iterdir() if path.name != "judging")]
    sources = [path for folder in folders for path in folder.rglob("*.py")]
    return {str(path.relative_to(ROOT)) for path in sources if any(calls(path, name))}


def test_no_fault_is_recorded_by_hand() -> None:
    assert files_that_call("fault") == RECORDERS
    assert files_that_call(RecordedPhase.__name__) == {MAKER}


@pytest.mark.parametrize("phase", ["inject", "witness", "heal"])
def test_a_recorded_fault_carries_its_effects_with_the_injection(phase: Phase) -> None:
    log = FakeLog()
    record_fault(log, Kill(role="broker-1"), phase, node="broker-1")  # type: ignore[arg-type]
    assert log.phases == [("broker-1", phase)]
    assert log.effects == [Kill.effects if phase == "inject" else None]


@pytest.mark.parametrize("kind", [Kill, Stop, Freeze])
def test_what_a_bench_does_to_a_node_is_a_fault_of_the_catalogue(kind: type[ProcessFault]) -> None:
    assert kind in FAULTS
    assert "node" in kind.roles
