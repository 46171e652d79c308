"""Every fault of the catalogue on a live cluster: it shows its witness and heals."""

from collections.abc import Iterator

import pytest

from fixtures.engine import connect
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.fault import Fault
from fixtures.faults.show import Stages, shown_once
from fixtures.images import obtain
from fixtures.runs import Run

pytestmark = pytest.mark.docker

IMPOSSIBLE_HERE: frozenset[str] = frozenset()
"""Faults that the kit's own image cannot have; each `available` says why."""


@pytest.fixture(scope="module")
def stages() -> Iterator[Stages]:
    with Run.begin() as run:
        found = Stages(obtain("4.3.1"), run)
        yield found
        found.close()
        assert run.end(connect()) == [], "a fault left something on the engine"


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind().name)
def test_it_is_witnessed_and_heals(kind: type[Fault], stages: Stages) -> None:
    row = shown_once(stages, kind(role=kind.roles[0]))
    expected = "unavailable" if row.fault in IMPOSSIBLE_HERE else "witnessed"
    assert row.ending == expected, row.reason
    assert row.injected is None or row.injected.witness, "a witness that measured nothing"
