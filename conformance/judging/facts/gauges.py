"""Facts about the metadata quorum as a node's own metrics show it (KIP-595, KIP-630)."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.judging.facts.exchange import Attributed, Decoding, Exchange, decodes
from history.readings import Metric, ReadMetric
from history.subjects import METADATA_LOG

RAFT = "kafka.server:type=raft-metrics"
APPLIED = "kafka.server:type=broker-metadata-metrics"


class RaftGauges(Exchange, frozen=True, gc=False):
    """A node's gauges of the quorum; -1 for what it does not know. They are read one after the other."""

    state: str
    leader: int
    epoch: int
    high_watermark: int
    end: int

    def __str__(self) -> str:
        return f"{self.node} showed {self.state} in epoch {self.epoch}, high watermark {self.high_watermark}, end {self.end}"


class AppliedOffset(Exchange, frozen=True, gc=False):
    """The offset of the last record of the metadata log that a broker has applied."""

    offset: int


@decodes(ReadMetric, about=["quorum"])
def _metric(request: ReadMetric, answer: Metric, at: Decoding) -> Iterator[Attributed]:
    found = answer.attributes or {}
    if request.metric == RAFT and "current-state" in found:
        names = ("current-leader", "current-epoch", "high-watermark", "log-end-offset")
        leader, epoch, watermark, end = (number_of(found, name) for name in names)
        gauges = RaftGauges(*at.exchange(), str(found["current-state"]), leader, epoch, watermark, end)
        yield ("quorum", METADATA_LOG, gauges)
    if request.metric == APPLIED and "last-applied-record-offset" in found:
        offset = number_of(found, "last-applied-record-offset")
        yield ("quorum", METADATA_LOG, AppliedOffset(*at.exchange(), offset))


def number_of(attributes: Mapping[str, Any], name: str) -> int:
    """Return a gauge, which older releases give as a float; -1 if it is missing or has no value."""
    found = attributes.get(name)
    return int(found) if isinstance(found, int | float) else -1
