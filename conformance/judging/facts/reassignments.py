"""Facts about the reassignment of a partition's replicas."""

from collections.abc import Iterator

from conformance.judging.facts.exchange import (
    NEVER_SENT,
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    LostAnswer,
    decodes,
    partition_of,
)
from conformance.judging.facts.log import CONTROLLER_UNKNOWN
from protocol.topics import AlterPartitionReassignments, PartitionResults


class ReassignmentResult(Exchange, frozen=True, gc=False):
    """An AlterPartitionReassignments request: the target replicas, None to cancel a reassignment; `error` is -1 if the outcome
    is unknown."""

    replicas: tuple[int, ...] | None
    error: int

    @property
    def is_refused(self) -> bool:
        return self.error != NONE and self.error not in CONTROLLER_UNKNOWN


@decodes(AlterPartitionReassignments, about=["partition"], lost=True)
def _alter_partition_reassignments(
    request: AlterPartitionReassignments, answer: PartitionResults | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    if answer.error != NEVER_SENT:
        for one in request.reassignments:
            error = error_about(answer, one.topic, one.partition, UNKNOWN_OUTCOME)
            yield ("partition", partition_of(one), ReassignmentResult(*at.exchange(), one.replicas, error))


def error_about(answer: PartitionResults | LostAnswer, topic: str, index: int, otherwise: int) -> int:
    """Return the error of the whole answer, or of a partition; `otherwise` if the answer lacks the partition."""
    own = (one.error for one in answer.partitions if (one.topic, one.partition) == (topic, index))
    return answer.error if answer.error != NONE else next(own, otherwise)
