"""A test that is not collected by itself: it stays in the middle of a partition until it is killed (see
test_leftovers)."""

import os
import signal
from pathlib import Path

from fixtures.cluster import KRaftCluster
from fixtures.faults.base.injector import Injector
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.kinds.process import PausePastFencing
from fixtures.faults.kinds.zombies import CutOffFromControllers
from fixtures.faults.lab import LAB
from fixtures.images import obtain_image
from fixtures.runs import Run


def test_it_holds_a_partition_and_a_frozen_broker() -> None:
    run = Run.begin()
    cluster = KRaftCluster(LAB, obtain_image("4.3.1"), run).boot()
    injector = Injector(FaultTarget.on_new_topic(cluster))
    injector.inject(CutOffFromControllers(role="leader"))
    injector.inject(PausePastFencing(role="follower"))
    Path(os.environ["HELD_PARTITION_SIGN"]).write_text(run.id)
    signal.pause()
