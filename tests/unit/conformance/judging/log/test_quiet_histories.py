"""A history without events puts no row to the test that is about a change of leader, ISR or log."""

from __future__ import annotations

from conformance.judging.judge import judge_all
from conformance.judging.judges import JUDGES
from tests.support.histories import LogHistory, stamped

CHANGES = {"KIP101-INV-06", "KIP101-INV-08", "KIP101-INV-09", "KIP101-INV-12", "KIP101-INV-16", "KIP101-INV-17"}


def test_healthy_writes_and_reads_are_no_instances() -> None:
    history, batches = LogHistory().created(min_insync_replicas="2").settled(1, 0), []
    for offset, value in enumerate("abcde"):
        history.produce(1, value, at=offset).settled(1, 0)
        batches.append(stamped(0, offset, value))
        if offset in (2, 4):
            history.fetch(1, *batches, epoch=0, hw=offset + 1)
    assert CHANGES.isdisjoint(one.requirement for one in judge_all(JUDGES, history.history))
