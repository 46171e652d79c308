"""Facts about the reassignment of a partition's replicas."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judging.facts.exchange import (
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    decodes,
    partition_of,
)
from conformance.judging.facts.log import CONTROLLER_UNKNOWN
from history.events import Answer, Call


class ReassignmentResult(Exchange, frozen=True, gc=False):
    """AlterPartitionReassignments: the target replicas, None to cancel one; `error` is -1 where the outcome is unknown."""

    replicas: tuple[int, ...] | None
    error: int

    @property
    def refused(self) -> bool:
        return self.error != NONE and self.error not in CONTROLLER_UNKNOWN


@decodes("alter_partition_reassignments", about=["partition"])
def _alter_partition_reassignments(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if answer.outcome == "fail":  # it was never sent
        return
    for one in call.request["reassignments"]:
        replicas = None if one["replicas"] is None else tuple(one["replicas"])
        error = _error_about(answer, one["topic"], one["partition"])
        yield ("partition", partition_of(one), ReassignmentResult(*at.exchange(call, answer), replicas, error))


def _error_about(answer: Answer, topic: str, index: int) -> int:
    """The error of a partition, or of the whole answer; unknown where the answer does not name the partition."""
    if answer.outcome != "ok":
        return UNKNOWN_OUTCOME
    if answer.value["error_code"] != NONE:
        return int(answer.value["error_code"])
    own = (one for one in answer.value["partitions"] if (one["topic"], one["partition"]) == (topic, index))
    return next((int(one["error_code"]) for one in own), UNKNOWN_OUTCOME)
