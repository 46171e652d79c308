"""CPU time is added up by cause, also over processes that were started again."""

from __future__ import annotations

from conformance.running.recording.usage import ClusterMeter, Usage
from fixtures.cluster.cpu import CpuTime


def test_what_grew_since_the_last_look_counts_for_its_cause() -> None:
    meter = ClusterMeter()
    meter.measure({"a": CpuTime(4.0, 1.0), "b": CpuTime(1.0, 0.0)}, "boots")
    meter.measure({"a": CpuTime(6.0, 2.0), "b": CpuTime(1.0, 0.0)}, "nodes")
    assert dict(meter.seconds) == {"boots": 6.0, "nodes": 3.0, "kernel": 2.0}


def test_a_process_that_was_started_again_counts_from_its_start() -> None:
    meter = ClusterMeter()
    meter.measure({"a": CpuTime(9.0, 1.0)}, "nodes")
    meter.measure({}, "nodes")
    meter.measure({"a": CpuTime(2.0, 0.5)}, "nodes")
    assert dict(meter.seconds) == {"nodes": 12.5, "kernel": 1.5}


def test_usage_since_an_earlier_one_has_only_what_grew() -> None:
    before = Usage(spent={"act": 1.0, "boot": 5.0}, cpu={"kit": 2.0}, boots=1)
    now = Usage(spent={"act": 1.5, "boot": 5.0, "wait": 0.25}, cpu={"kit": 2.5}, boots=1)
    assert now.since(before) == Usage(spent={"act": 0.5, "wait": 0.25}, cpu={"kit": 0.5}, boots=0)
