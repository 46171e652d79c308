"""The moved clock: its witness reads the broker's own time."""

import pytest

from fixtures.cluster import KRaftCluster
from fixtures.faults.base.injector import Injector, Unwitnessed
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.kinds.clock import ClockShift
from fixtures.faults.lab import LAB
from fixtures.images import clock, obtain_image
from fixtures.runs import Run

pytestmark = pytest.mark.docker


def test_a_file_that_does_not_change_is_noticed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is done but for the shift itself: the library is loaded, the file says nothing."""
    with KRaftCluster(LAB, obtain_image("4.3.1"), run).boot() as cluster, FaultTarget.on_new_topic(cluster) as target:
        assert ClockShift(role="broker").availability(target)
        monkeypatch.setattr(clock, "shift_content", lambda seconds: b"+0\n")
        monkeypatch.setattr(ClockShift, "witness_within", 4.0)
        with pytest.raises(Unwitnessed):
            Injector(target).inject(ClockShift(role="broker"))
