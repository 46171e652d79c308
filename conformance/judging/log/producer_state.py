"""Evidence by which a leader may have forgotten a producer's batches. Brokers remember idle producers for a day."""

from math import inf

from conformance.judging.excuses import PRODUCER_STATE_DELETED, PRODUCER_STATE_EXPIRED, PRODUCER_STATE_LOST, Evidence
from conformance.judging.facts.exchange import Exchange
from conformance.judging.facts.log import FetchResult, ReplicaBatch
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import EPOCH_BEGIN, Moment, PermittedLosses
from conformance.judging.log.story import PartitionStory


def may_be_forgotten(
    story: PartitionStory,
    offset: int,
    since: Moment,
    until: Exchange,
    *,
    leader: str | None = None,
    in_transaction: bool = False,
) -> Evidence | None:
    """Return the evidence that a leader may have forgotten a batch that was in the log at a moment; None if it must know the
    batch.

    The leader is the node that answered, unless `leader` names another (empty: unknown). `in_transaction`: the batch's
    transaction was open all the time, and a producer does not expire in a transaction (KIP360-SEQ-18).
    """
    if story.derive(LogStarts).highest_explained(until.event) > offset:
        return PRODUCER_STATE_DELETED
    node = until.node if leader is None else leader
    if story.derive(ReplicaDamage).may_have_lost_producers(node, since[1], until.event):
        return PRODUCER_STATE_LOST
    if not in_transaction and may_have_expired(story, since, until):
        return PRODUCER_STATE_EXPIRED
    return may_be_lost(story, since, until)


def forgotten_between(
    story: PartitionStory, read: FetchResult, first: ReplicaBatch, second: ReplicaBatch
) -> Evidence | None:
    """Return the evidence by which the leader that appended a producer's second batch may not know the first; None without
    any."""
    markers = (one for one in read.batches if one.marker is not None and one.producer_id == first.producer_id)
    in_transaction = first.transactional and not any(first.base < one.base < second.base for one in markers)
    leader = story.derive(Leadership).leaders.get(second.epoch, "")
    since = first.epoch, EPOCH_BEGIN
    return may_be_forgotten(story, first.base, since, read, leader=leader, in_transaction=in_transaction)


def may_have_expired(story: PartitionStory, since: Moment, until: Exchange) -> bool:
    """True if, between two moments, a producer may have been idle until its expiry, or a fault made brokers forget it."""
    timeline = story.timeline
    is_set, latest = timeline.forgets_after < inf, timeline.time(until.event) - timeline.forgets_after
    if is_set and timeline.stamp_of(max(since[1], 0)) <= latest:
        return True
    spans = story.derive(ReplicaDamage).faults_with(lambda effects: effects.forgets_producers)
    return any(span.began < until.event and since[1] < span.ended for span in spans)


def may_be_lost(story: PartitionStory, since: Moment, until: Exchange) -> Evidence | None:
    """Return the permission by which records that were in the log at `since` may be gone at `until`; None without one."""
    now = (story.derive(Leadership).newest_epoch_before(until.event), until.event)
    return story.derive(PermittedLosses).between(since, now)
