"""Isolation (GEN-20): a broker goes on serving replicas that are not in its failed log directory."""

from collections.abc import Iterator

from conformance.judging.facts.exchange import NONE, Exchange
from conformance.judging.judge import Finding
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.codes import Error


@log_judge("GEN-20", "beside_failed")
def other_log_directories_stay_online(story: PartitionStory) -> Iterator[Finding]:
    """A broker that described a replica in a healthy log directory does not refuse requests to it with a storage error.

    That directory may fail later, so only answers of the same incarnation count, and none after another fault hit the broker.
    """
    if not story.beside_failed:
        return
    for answer, error in sorted(_answers(story), key=lambda one: one[0].event):
        place = next((one for one in reversed(story.beside_failed) if _is_before(one, answer)), None)
        if place is not None and error in (NONE, Error.KAFKA_STORAGE_ERROR):
            shown = f"{answer.node} answers KAFKA_STORAGE_ERROR, and has its replica beside the failed directory"
            yield Finding(error == NONE, "offline-directory", (place.event, answer.event), shown, "stuck")


def _answers(story: PartitionStory) -> Iterator[tuple[Exchange, int]]:
    """Yield answers to Produce and Fetch, each with its error."""
    yield from ((write, write.error) for write in story.produced if write.acks != 0)
    yield from ((read, NONE) for read in story.reads)
    yield from ((refusal, refusal.error) for refusal in story.errors if refusal.op == "fetch")


def _is_before(place: Exchange, answer: Exchange) -> bool:
    same = (place.node, place.incarnation) == (answer.node, answer.incarnation)
    return same and place.event < answer.asked
