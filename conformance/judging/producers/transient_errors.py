"""Transient errors (KIP360-INV-16): those of each API, and how long a broker may answer with them."""

from collections.abc import Iterable

from conformance.judging.facts.log import ProduceResult
from conformance.judging.log.settings import possible_min_isr
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.coordinator import Api
from conformance.judging.producers.requests import AnsweredRequest, requests
from conformance.judging.producers.story import TransactionStory
from conformance.judging.timeline import Timeline
from protocol.codes import Error

_LOADS = frozenset((Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE))
_COORDINATOR = _LOADS | {Error.NOT_COORDINATOR}
TRANSIENT_ERRORS: dict[Api, frozenset[int]] = {
    "InitProducerId": _COORDINATOR,
    "AddPartitionsToTxn": _COORDINATOR | {Error.UNKNOWN_TOPIC_OR_PARTITION, Error.OPERATION_NOT_ATTEMPTED},
    "AddOffsetsToTxn": _COORDINATOR,
    "EndTxn": _COORDINATOR,
    "TxnOffsetCommit": _COORDINATOR
    | {Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID, Error.REQUEST_TIMED_OUT},
    "Produce": frozenset(
        (
            Error.UNKNOWN_TOPIC_OR_PARTITION,
            Error.UNKNOWN_TOPIC_ID,
            Error.NOT_LEADER_OR_FOLLOWER,
            Error.REQUEST_TIMED_OUT,
            Error.NETWORK_EXCEPTION,
            Error.NOT_ENOUGH_REPLICAS,
            Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            Error.KAFKA_STORAGE_ERROR,
        )
    ),
}
"""The transient errors of each API, from a broker that moves a coordinator, loads its log, does not know a topic yet or lacks
in-sync replicas. A verification that the coordinator cannot answer becomes NOT_ENOUGH_REPLICAS in Produce, and
COORDINATOR_NOT_AVAILABLE in TxnOffsetCommit (KIP-890). CONCURRENT_TRANSACTIONS is not among them: it is right while markers are
written, or while another request is in flight."""
UNTOUCHED = frozenset(
    (Error.COORDINATOR_LOAD_IN_PROGRESS, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.OPERATION_NOT_ATTEMPTED)
)
"""The transient errors after which nothing has changed. After any other the change may be in a log, and show later."""
TRANSIENT_TIMEOUT = 30.0
"""Seconds after which such an error must be gone if nothing disturbs the broker any more: the general bound."""


def lasts_too_long(one: AnsweredRequest, story: TransactionStory | None) -> bool:
    """True if a broker gave only such errors for longer than the bound, with nothing left to wait for: a leader for a partition,
    or a loading coordinator for requests of one API about a transactional id.

    A broker that is no coordinator remains one, and a missing topic remains missing.
    """
    if one.partition is not None and one.write is not None:
        return _refuses_writes(one.partition, one.write)
    if story is None or one.error not in _LOADS:
        return False
    since = story.derive(_first_errors_of_coordinators)[one.event, one.request.api]
    return _is_over(story.timeline, since, one.request.asked)


def _refuses_writes(partition: PartitionStory, write: ProduceResult) -> bool:
    since = partition.derive(_first_errors_of_leaders)[write.event, "Produce"]
    changes = (seen.event for seen in partition.first_metadata[1:] if seen.event < write.asked)
    moves = (move.event for move in partition.reassignments if move.event < write.asked)
    since = max([since, *changes, *moves])
    seen = next((seen for seen in reversed(partition.metadata) if seen.event < write.event), None)
    wants = max(possible_min_isr(partition, since, write.event))
    return seen is not None and len(seen.isr) >= wants and _is_over(partition.timeline, since, write.asked)


def _first_errors_of_leaders(partition: PartitionStory) -> dict[tuple[int, Api], int]:
    answers = (write for write in partition.produced if write.acks != 0)
    return _first_in_a_row((one.node, "Produce", one.event, one.error) for one in answers)


def _first_errors_of_coordinators(story: TransactionStory) -> dict[tuple[int, Api], int]:
    return _first_in_a_row((one.request.node, one.request.api, one.event, one.error) for one in requests(story, []))


def _first_in_a_row(answers: Iterable[tuple[str, Api, int, int]]) -> dict[tuple[int, Api], int]:
    """Return the first of consecutive errors of a node up to an event, by event and API."""
    found: dict[tuple[int, Api], int] = {}
    first: dict[tuple[str, Api], int] = {}
    for node, api, event, error in answers:
        if error in TRANSIENT_ERRORS[api]:
            found[event, api] = first.setdefault((node, api), event)
        else:
            first.pop((node, api), None)
    return found


def _is_over(timeline: Timeline, since: int, asked: int) -> bool:
    """True if the bound has passed since an event and since the last phase of a fault, and no fault is active."""
    calm = max([since, *(fault.event for fault in timeline.faults if fault.event < asked)])
    return (
        not timeline.active_faults(asked, asked)
        and timeline.watch_time(calm, asked, TRANSIENT_TIMEOUT) >= TRANSIENT_TIMEOUT
    )
