"""Producer ids are unique, epochs rise, and replicas agree on producers (KIP360-INV-12, -13)."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from conformance.judging.excuses import PRODUCER_STATE_DELETED, PRODUCER_STATE_EXPIRED, Evidence
from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.transactions import DescribedProducers
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge, story_judge
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.producer_state import may_have_expired
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.coordinator import LAST_EPOCH
from conformance.judging.producers.logs import final_read, moment_of_event
from conformance.judging.producers.records import ALL
from conformance.judging.producers.story import ProducerStory, TransactionStory
from conformance.judging.producers.transactions import Producers
from conformance.judging.together import Together
from protocol.transactions import ProducerState
from protocol.words import say

# --- INV-12


@story_judge("KIP360-INV-12", ProducerStory, "given")
def producer_ids_are_unique(story: ProducerStory) -> Iterator[Finding]:
    """A producer id is given to only one transactional id, or once to a producer without one (KIP360-INIT-19)."""
    owners = {one.transactional_id for one in story.given}
    times = sum(one.transactional_id is None for one in story.given)
    fine = len(owners) == 1 and times <= 1
    shown = (
        f"producer id {story.name} was given to {say(sorted(filter(None, owners)))}, and {times} "
        "times without a transactional id"
    )
    yield Finding(fine, "producer-ids", tuple(one.event for one in story.given), "" if fine else shown, "repeated-id")


class _Named(NamedTuple):
    """A producer id and epoch that an answer returned for the next transaction."""

    asked: int
    event: int
    producer_id: int
    epoch: int
    by: str
    sent_epoch: int = -1


@story_judge("KIP360-INV-12", TransactionStory, "given", "ends")
def producer_epochs_rise(story: TransactionStory) -> Iterator[Finding]:
    """A (producer id, epoch) in an answer is higher than those of earlier answers (KIP360-INIT-20).

    No epoch exceeds the last one, after which another producer id is given (KIP360-INIT-15).
    """
    named = sorted(_assigned_ids(story), key=lambda one: one.event)
    former: set[int] = set()
    for before, one in pairwise(named):
        if one.asked < before.event:
            continue
        if one.producer_id != before.producer_id:
            former.add(before.producer_id)
        # A repeated EndTxn is answered with the same pair, and so is InitProducerId with the epoch before it (KIP360-INIT-04).
        least = before.epoch + (one.by == "InitProducerId" and one.sent_epoch in (-1, before.epoch))
        rises = one.epoch >= least if one.producer_id == before.producer_id else one.producer_id not in former
        held, label = rises and one.epoch <= LAST_EPOCH, "epoch-beyond-last" if rises else "epoch-regression"
        shown = (
            f"{one.by} of {story.name} answered producer {one.producer_id} at epoch {one.epoch}, after {before.producer_id} "
            f"at epoch {before.epoch}"
        )
        yield Finding(held, "producer-epochs", (before.event, one.event), "" if held else shown, label)


def _assigned_ids(story: TransactionStory) -> Iterator[_Named]:
    for one in story.answers:
        yield _Named(one.asked, one.event, one.producer_id, one.producer_epoch, "InitProducerId", one.sent_epoch)
    for end in story.ends:
        if end.error == NONE and end.next_epoch >= 0:
            yield _Named(end.asked, end.event, end.next_id, end.next_epoch, "EndTxn")


# --- INV-13


@joint_judge("KIP360-INV-13", *ALL)
def replicas_agree_on_producers(together: Together) -> Iterator[Claim]:
    """At rest each replica in the ISR describes each producer as the leader does."""
    producers = together.derive(Producers)
    for partition in producers.partitions:
        latest = {one.node: one for one in partition.described_producers if partition.is_at_rest(one)}
        if (leader := latest.pop(_leader(partition), None)) is not None:
            for follower in latest.values():
                yield from _compare(producers, partition, leader, follower)


def _leader(partition: PartitionStory) -> str:
    return partition.timeline.names.get(partition.metadata[-1].leader, "") if partition.metadata else ""


def _compare(
    producers: Producers, partition: PartitionStory, leader: DescribedProducers, follower: DescribedProducers
) -> Iterator[Claim]:
    mine, theirs = ({one.producer_id: one for one in known.producers} for known in (leader, follower))
    for id in sorted({*mine, *theirs}):
        case, differing = producers.case(id), _differing_fields(mine.get(id), theirs.get(id))
        same = not differing
        if not case:
            continue
        states = [one for one in (mine.get(id), theirs.get(id)) if one is not None]
        if differing and (excuse := _excuse(partition, id, follower, differing, states)):
            yield Excuse(excuse, case)
            continue
        left, right = _say_producer(mine.get(id)), _say_producer(theirs.get(id))
        shown = f"{leader.node}, the leader, has {left}, {follower.node} has {right}"
        yield Finding(same, case, (leader.event, follower.event), "" if same else shown, "different-producer-state")


def _say_producer(known: ProducerState | None) -> str:
    if known is None:
        return "no such producer"
    return (
        f"producer {known.producer_id} at epoch {known.producer_epoch}, last sequence {known.last_sequence}, coordinator epoch "
        f"{known.coordinator_epoch}, transaction from {known.current_txn_start_offset}"
    )


def _excuse(
    partition: PartitionStory, id: int, by: DescribedProducers, differing: set[str], states: list[ProducerState]
) -> Evidence | None:
    if _is_deleted(partition, id, by, differing):
        return PRODUCER_STATE_DELETED
    return PRODUCER_STATE_EXPIRED if _has_expired(partition, id, by, differing, states) else None


def _has_expired(
    partition: PartitionStory, id: int, by: DescribedProducers, differing: set[str], states: list[ProducerState]
) -> bool:
    """True if expiry explains the difference.

    A replica that rebuilds its state from the log later knows a producer that others let expire, or the producer's last marker.
    An open transaction keeps its producer from expiring, and all replicas know what a producer writes later.
    """
    own = (one for one in partition.produced if one.producer_id == id and one.error == NONE)
    written = max((one.asked for one in own), default=-1)
    if may_have_expired(partition, moment_of_event(partition, written), by):
        return all(one.current_txn_start_offset < 0 for one in states)
    return differing == {"coordinator_epoch"} and may_have_expired(partition, moment_of_event(partition, -1), by)


def _is_deleted(partition: PartitionStory, id: int, by: DescribedProducers, differing: set[str]) -> bool:
    """True if the batches from which a replica would rebuild the differing state were deleted (KIP360-SEQ-11, -16)."""
    read, start = final_read(partition), partition.derive(LogStarts).highest_explained(by.event)
    if read is None or start <= 0:
        return False
    # The log start may differ: a replica that crashes, or copies the log, may have another log start than the leader.
    left = [one.marker is not None for one in read.batches if one.producer_id == id and one.base >= start]
    shown = {*(["coordinator_epoch"] if True in left else []), *(_BY_RECORDS if False in left else [])}
    return not shown & differing


_BY_RECORDS = ("producer_epoch", "last_sequence", "current_txn_start_offset")


def _differing_fields(one: ProducerState | None, other: ProducerState | None) -> set[str]:
    """Return the fields in which two descriptions differ; all of them if a replica does not know the producer."""
    fields = set(ProducerState.__struct_fields__) - {"last_timestamp"}
    return {name for name in fields if getattr(one, name, None) != getattr(other, name, None)}
