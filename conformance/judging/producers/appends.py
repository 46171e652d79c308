"""The answers of a partition's leader to a producer's batch, given earlier requests and answers (KIP-360)."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from conformance.judging.excuses import Evidence
from conformance.judging.facts.exchange import NONE, by_asked
from conformance.judging.facts.log import ProduceResult
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.producer_state import may_be_forgotten
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.logs import SEQUENCES, batch_identity, moment_of_event
from conformance.judging.timeline import NEVER
from protocol.codes import Error

REMEMBERED_BATCHES = 5
"""The number of a producer's latest batches that a leader recognises as duplicates."""
Kind = Literal["granted", "repeated", "out-of-order", "fenced-seen", "unknown"]
REFUSED = frozenset(
    (
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Error.INVALID_PRODUCER_EPOCH,
        Error.INVALID_TXN_STATE,
        Error.INVALID_PRODUCER_ID_MAPPING,
        Error.TRANSACTION_ABORTABLE,
        Error.PRODUCER_FENCED,
        Error.CONCURRENT_TRANSACTIONS,
        Error.NOT_ENOUGH_REPLICAS,
    )
)
"""Errors after which nothing was appended. After any other error the batch may be in the log, or may still be appended."""


class ExpectedAppend(NamedTuple):
    """The right errors for a batch, and the earlier batch that decides them. There are several if the leader's state is not
    certain."""

    kind: Kind
    errors: frozenset[int]
    by: ProduceResult | None = None

    def __str__(self) -> str:
        if self.by is None:
            return "the producer is new there"
        what = f"epoch {self.by.producer_epoch}, sequence {self.by.base_sequence}"
        return f"a batch of {what} was {'acknowledged' if self.by.error == NONE else 'sent'} at event {self.by.event}"


APPENDING = frozenset((Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.INVALID_PRODUCER_EPOCH))
"""The errors that depend on the producer state that a leader keeps."""
_FENCED, _GRANTED = frozenset((Error.INVALID_PRODUCER_EPOCH,)), frozenset((Error.NONE,))
_OUT_OF_ORDER = frozenset((Error.OUT_OF_ORDER_SEQUENCE_NUMBER,))


def append_of(partition: PartitionStory, write: ProduceResult) -> ExpectedAppend:
    """Return the right answers to a batch, given the producer's batches that were sent to this partition before the answer."""
    own = [one for one in partition.produced if _concerns(one, write)]
    newer = [one for one in own if one.producer_epoch > write.producer_epoch]
    if newer:
        seen = next((one for one in newer if one.error == NONE and one.event < write.asked), None)
        return ExpectedAppend("unknown", APPENDING) if seen is None else ExpectedAppend("fenced-seen", _FENCED, seen)
    same = [one for one in own if one.producer_epoch == write.producer_epoch]
    if any(one.event > write.asked for one in own) or any(one.acks != -1 for one in own):
        return ExpectedAppend("unknown", APPENDING)
    return _right_for_later(partition, same, write) if same else _first_of_epoch(own, write)


def _concerns(one: ProduceResult, write: ProduceResult) -> bool:
    """True if the leader's answer to `write` may depend on this batch: one of the same producer, perhaps appended before it."""
    mine = one.producer_id == write.producer_id and one is not write and one.asked < write.event
    return mine and not one.failed and not (one.error in REFUSED and one.event < write.asked)


def _first_of_epoch(older: Sequence[ProduceResult], write: ProduceResult) -> ExpectedAppend:
    """Return the right answers to the first batch of an epoch.

    A new epoch starts at sequence 0 (KIP360-SEQ-02); an unknown producer may be admitted at any (KIP360-SEQ-01).
    """
    known = next((one for one in reversed(older) if one.error == NONE), None)
    if write.base_sequence == 0:
        return ExpectedAppend("granted", _GRANTED, known)
    return (
        ExpectedAppend("unknown", APPENDING) if known is None else ExpectedAppend("out-of-order", _OUT_OF_ORDER, known)
    )


def _right_for_later(partition: PartitionStory, same: Sequence[ProduceResult], write: ProduceResult) -> ExpectedAppend:
    """Return the right answers to a later batch: its sequence follows a batch acknowledged or of unknown outcome."""
    acknowledged = [one for one in same if one.error == NONE]
    if not acknowledged:
        return ExpectedAppend("unknown", APPENDING)
    end = partial(_end, same[0].base_sequence)
    last = max(acknowledged, key=end)
    nexts = {end(last), *(end(one) for one in same if one.error != NONE and end(one) > end(last))}
    if any(batch_identity(one) == batch_identity(write) for one in same):
        return _right_for_repeated(partition, same, write)
    begin = end(write) - len(write.values)
    if begin > max(nexts):
        return ExpectedAppend("out-of-order", _OUT_OF_ORDER, last)
    if len(nexts) > 1:
        return ExpectedAppend("unknown", APPENDING)
    order = begin == end(last)
    return ExpectedAppend("granted", _GRANTED, last) if order else ExpectedAppend("out-of-order", _OUT_OF_ORDER, last)


def _right_for_repeated(
    partition: PartitionStory, same: Sequence[ProduceResult], write: ProduceResult
) -> ExpectedAppend:
    """Return the right answers to a repeated batch (KIP360-SEQ-04, -12).

    A leader recognises each of the producer's last five batches; after a restart or a change of leader, perhaps only the last.
    """
    first = next((one for one in same if batch_identity(one) == batch_identity(write) and one.error == NONE), None)
    if first is None:
        return ExpectedAppend("unknown", APPENDING)
    end = partial(_end, same[0].base_sequence)
    later = {batch_identity(one) for one in same if end(one) > end(first)}
    if len(later) >= REMEMBERED_BATCHES:
        return ExpectedAppend("out-of-order", _OUT_OF_ORDER, first)
    kept = not later or _is_same_leader(partition, first, write)
    return ExpectedAppend("repeated", _GRANTED if kept else _GRANTED | _OUT_OF_ORDER, first)


def _is_same_leader(partition: PartitionStory, first: ProduceResult, write: ProduceResult) -> bool:
    """True if the leader is the same process in the same epoch. Any other may know only the last batch of a producer."""
    leadership = partition.derive(Leadership)
    epochs = {leadership.newest_epoch_before(one.asked) for one in (first, write)}
    return (first.node, first.incarnation) == (write.node, write.incarnation) and len(epochs) == 1


def _end(origin: int, one: ProduceResult) -> int:
    """Return the distance from the sequence `origin` to the end of the batch; after the last sequence comes 0."""
    return (one.base_sequence - origin) % SEQUENCES + len(one.values)


def why_forgotten(partition: PartitionStory, write: ProduceResult, began: int = NEVER) -> Evidence | None:
    """Return the evidence by which the leader may not know the producer's last batch; None if it must, or without such a batch.

    `began` is the first request of the write's transaction, if that is open.
    """
    own = [one for one in partition.produced if one.producer_id == write.producer_id and one.event < write.asked]
    last = max(own, key=by_asked, default=None)
    if last is None:
        return None
    since, in_transaction = moment_of_event(partition, last.asked), last.asked >= began
    return may_be_forgotten(partition, last.offset, since, write, in_transaction=in_transaction)


def is_leading(partition: PartitionStory, write: ProduceResult) -> bool:
    """True if the node leads at the newest leader epoch before the request, and still at the next one that a broker names after
    it.

    If no broker names a leader, a broker that answers as one counts as the leader: only a fault, a reassignment or an unclean
    election deposes a leader.
    """
    leadership = partition.derive(Leadership)
    epoch = leadership.newest_epoch_before(write.asked)
    after = next((seen.epoch for seen in partition.metadata if seen.asked > write.event), None)
    if epoch >= 0 and after is not None:
        return leadership.leaders.get(epoch) == write.node and after == epoch
    calm = not (partition.timeline.faults or partition.reassignments or partition.unclean_elections)
    return calm and leadership.leaders.get(epoch, write.node) == write.node
