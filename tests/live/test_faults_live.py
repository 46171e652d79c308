"""Every fault of the catalogue on a live cluster: it shows its witness and heals."""

from collections.abc import Iterator

import pytest

from fixtures.engine import connect
from fixtures.faults.base.fault import Fault
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.kinds.upgrade import Upgrade, next_release
from fixtures.faults.selftest import Targets, run_once
from fixtures.images import obtain_image
from fixtures.runs import Run

pytestmark = pytest.mark.docker

VERSION = "4.3.1"


@pytest.fixture(scope="module")
def targets() -> Iterator[Targets]:
    with Run.begin() as run:
        found = Targets(obtain_image(VERSION), run)
        yield found
        found.close()
        assert run.end(connect()) == [], "a fault left something on the engine"


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind().name)
def test_it_is_witnessed_and_heals(kind: type[Fault], targets: Targets) -> None:
    row = run_once(targets, kind(role=kind.roles[0]))
    if kind is Upgrade and not next_release(VERSION):
        assert "no image of a release after" in row.reason
        pytest.skip("there is nothing to upgrade to; test_faults_upgrade shows it from an older release")
    assert row.ending == "witnessed", row.reason
    assert row.injected is None or row.injected.witness, "a witness that measured nothing"
