"""Produce is never answered with an error that later releases replaced (KIP360-SEQ-07)."""

from collections.abc import Iterator

from conformance.judging.judge import Finding
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.codes import Error
from protocol.words import say_error

FORMER_ERRORS = frozenset((Error.UNKNOWN_PRODUCER_ID, Error.DUPLICATE_SEQUENCE_NUMBER))


@log_judge("KIP360-SEQ-07", "produced")
def former_errors_are_not_answered(story: PartitionStory) -> Iterator[Finding]:
    """No answer to Produce is UNKNOWN_PRODUCER_ID or DUPLICATE_SEQUENCE_NUMBER. Equal answers of a process to one producer count
    once."""
    known: set[tuple[str, int, int, int]] = set()
    for write in story.produced:
        answer = (write.node, write.incarnation, write.producer_id, write.error)
        if write.producer_id >= 0 and write.error >= 0 and answer not in known:
            known.add(answer)
            shown = f"{write.node} answered Produce with {say_error(write.error)}"
            yield Finding(write.error not in FORMER_ERRORS, "any-produce", (write.event,), shown)
