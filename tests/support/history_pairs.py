"""Pairs of histories: one in which a judge sees a violation, and a similar one without it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from history.effects import Effects
from history.readings import PartitionRegistration
from protocol.codes import Error
from tests.support import gauge_pairs, group_pairs, metadata_log_pairs, quorum_writes
from tests.support.descriptions import DescriptionHistory
from tests.support.histories import LogHistory, Producer, stamped
from tests.support.producers import ProducerHistory, written
from tests.support.quorum import QuorumHistory

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")
ONE, TWO = UUID(int=1), UUID(int=2)
OLD, MERGED, NEW = (1, 2), (1, 3, 2), (1, 3)
FAILED = Effects(process="restarts-when-healed", abrupt=True, fails_writes=True)

AnyHistory = LogHistory | ProducerHistory | DescriptionHistory | QuorumHistory
Pair = tuple[AnyHistory, AnyHistory]
"""A history in which a judge sees a violation, and a similar one without it."""


def refused_write() -> Pair:
    """Refuse a write for lack of replicas; then that write is read, or another record in its place."""

    def refuses(value: str) -> LogHistory:
        history = LogHistory().settled(1, 0).produce(1, value, error=Error.NOT_ENOUGH_REPLICAS)
        return history.whole(1, A, epoch=0, hw=1)

    return refuses("a"), refuses("x")


def dropped_offset() -> Pair:
    """Commit an offset of a member in a transaction; then the one before is shown, or a later one."""

    def shows(offset: int) -> ProducerHistory:
        history = ProducerHistory().given().commit(3, 4, -1).adds_offsets().commits(5, member=("m", 1)).ends(True)
        return (
            history.committed(3, offset, -1) if offset < 5 else history.commit(3, offset, -1).committed(3, offset, -1)
        )

    return shows(4), shows(6)


def lonely_leader() -> Pair:
    """Stop 2 and 3; 1 acknowledges a write with acks=all, or with acks=1."""

    def acknowledges(acks: int) -> LogHistory:
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).hit("kill", 2).hit("stop", 3)
        history.metadata(1, 1, 0, isr=(1,), unfenced=(1,)).produce(1, "a", at=0, acks=acks)
        return history.metadata(1, 1, 0, isr=(1,), unfenced=(1,))

    return acknowledges(-1), acknowledges(1)


def reader_behind_a_truncation() -> Pair:
    """Elect 2 uncleanly with only the first record of epoch 0, of which a reader has all; it rewinds too little, or
    correctly."""
    log = (A, stamped(1, 1, "x"), stamped(1, 2, "y"))

    def goes_back(end: int) -> LogHistory:
        before = (A, B, stamped(0, 2, "c"))
        history = LogHistory().settled(1, 0).whole(1, *before, epoch=0, hw=3).fetch(1, *before, epoch=0, hw=3)
        history.step("deliver", (3, 0), (0, 0, "a"), (1, 0, "b"), (2, 0, "c"))
        history.elect_uncleanly(2).settled(2, 1).whole(2, *log, epoch=1, hw=3)
        history.epoch_end(2, 0, (0, end), 1).step("rewind", (end, 0), told=(0, end))
        rest = [(one.base_offset, 1, "new") for one in log[end:]]
        return history.fetch(2, *log[end:], epoch=1, hw=3, offset=end).step("deliver", (3, 1), *rest)

    return goes_back(2), goes_back(1)


def leaderless_partition() -> Pair:
    """Leave the only member of the ISR alive but not elected for 40 s, or for 20."""

    def waits(seconds: float, leader: int) -> LogHistory:
        history = LogHistory().settled(1, 0).metadata(2, -1, 1, isr=(1,), unfenced=(1, 2)).later(seconds)
        return history.metadata(2, leader, 1 + (leader > 0), isr=(1,), unfenced=(1, 2))

    return waits(40, -1), waits(20, 1)


def leader_out_of_the_isr(registered: bool) -> Pair:
    """Elect 2 while 1 is alone in the ISR, or while 2 is in it."""

    def elects(isr: tuple[int, ...]) -> LogHistory:
        history = LogHistory().settled(1, 0).metadata(2, -1, 1, isr=isr, unfenced=(2, 3)).settled(2, 2, isr=(2,))
        words = [
            PartitionRegistration(leader, members, epoch=epoch, replicas=(1, 2, 3), unfenced=(2, 3))
            for leader, epoch, members in ((1, 0, isr), (2, 1, (2,)))
        ]
        return history.registrations(*words) if registered else history

    return elects((1,)), elects((1, 2))


def acknowledged_and_lost() -> Pair:
    """Acknowledge with min.insync.replicas=2 on 1; then 2 leads, which lost the end of its log, or nothing."""

    def leads(*log: object) -> LogHistory:
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", "b", at=0)
        history.hit("cut-tail-above", 2, partition="topic-0").heal("cut-tail-above", 2).settled(2, 1, isr=(2,))
        return history.whole(2, *log, epoch=1, hw=len(log))  # type: ignore[arg-type]

    return leads(A), leads(A, B)


def failed_directory() -> Pair:
    """Fail one log directory of 1; a replica in another one, or in that one, is refused with a storage error."""

    def refuses(here: bool) -> LogHistory:
        history = LogHistory().settled(1, 0).hit("failed-directory", 1, effects=FAILED, partition="other-0")
        return history.beside_failed(1, here=here).produce(1, "a", error=Error.KAFKA_STORAGE_ERROR)

    return refuses(False), refuses(True)


def reassignment_to_a_dead_broker() -> Pair:
    """Reassign 2's replica to 3, which is down; the reassignment ends before 3 has joined the ISR, or after that."""

    def completes(joined: bool) -> LogHistory:
        history = LogHistory().created().settled(1, 0, replicas=OLD, isr=OLD).produce(1, "a", at=0).kill(3)
        history.reassigned(*NEW).settled(1, 0, replicas=MERGED, isr=OLD)
        if joined:
            history.start(3).settled(1, 0, replicas=MERGED, isr=(1, 2, 3))
        return history.settled(1, 1, replicas=NEW, isr=NEW if joined else (1,))

    return completes(False), completes(True)


def leader_that_is_no_replica() -> Pair:
    """Add Metadata with a leader that is not a replica, or one that is."""

    def leads(leader: int) -> LogHistory:
        return LogHistory().metadata(1, leader, 0, isr=(1, leader), replicas=(1, 2))

    return leads(4), leads(2)


def refused_commit() -> Pair:
    """Refuse a commit; its offset is fetched, or that of another one."""

    def fetches(offset: int, epoch: int) -> LogHistory:
        history = LogHistory().created().settled(1, 0).commit(1, 5, 0, error=Error.STALE_MEMBER_EPOCH)
        return history.committed(1, offset, epoch)

    return fetches(5, 0), fetches(-1, -1)


def retried_batch() -> Pair:
    """Send an unanswered batch again; it is in the log twice, or once."""

    def retries(at: int, *log: object) -> ProducerHistory:
        history = ProducerHistory().given(tid=None).writes("a", "b", lost="Unanswered").writes("a", "b", at=at)
        return history.reads(*log)  # type: ignore[arg-type]

    return retries(2, written(0, "a", "b"), written(2, "a", "b")), retries(0, written(0, "a", "b"))


def late_deletion() -> Pair:
    """Accept a duplicate DeleteTopics by id after the topic was recreated; the id is the former topic's, or the new
    one's."""

    def deletes(id: UUID) -> LogHistory:
        history = LogHistory().created_as(ONE).settled(1, 0).deleted(id=ONE).created_as(TWO).later(10).settled(1, 0)
        return history.deleted(id=id)

    return deletes(ONE), deletes(TWO)


def fetch_by_a_former_id() -> Pair:
    """Serve a Fetch by the deleted topic's id, or by the new one's, on a broker that has served the new topic."""

    def fetches(id: UUID) -> LogHistory:
        history = LogHistory().created_as(ONE).settled(1, 0).deleted(id=ONE).created_as(TWO).settled(1, 0)
        return history.fetch(1, epoch=0, hw=0, version=13, id=TWO).fetch(1, epoch=0, hw=0, version=13, id=id)

    return fetches(ONE), fetches(TWO)


def former_error() -> Pair:
    """Refuse a batch with an error for old producers, or with a current one."""

    def refused(error: Error) -> LogHistory:
        return LogHistory().settled(1, 0).produce(1, "a", error=error, producer=Producer(7, 0, 3))

    return refused(Error.UNKNOWN_PRODUCER_ID), refused(Error.OUT_OF_ORDER_SEQUENCE_NUMBER)


def watermark_above_two_voters() -> Pair:
    """Describe a high watermark that one voter of three has reached, or two."""
    return QuorumHistory().described(9, 8, 3, watermark=9), QuorumHistory().described(9, 9, 3, watermark=9)


def fallen_watermark(offset: int) -> QuorumHistory:
    """Report a high watermark of 9, and another one in the next epoch."""
    return (
        QuorumHistory()
        .described(9, 9, 9, watermark=9)
        .described(9, 9, 9, watermark=offset, epoch=5, by=102, leader=102)
    )


def untrue_answer(leader: int) -> QuorumHistory:
    """Name a leader between two answers that name 101."""
    return QuorumHistory().knows(101, 101, 4).fetched(leader=leader).knows(101, 101, 4)


def watermark_beside_the_epochs_start(watermark: int) -> QuorumHistory:
    """Serve an epoch that begins at offset 4."""
    return QuorumHistory().fetched((0, 3, 1), (4, 8, 4), watermark=watermark)


def log_of_epochs(first: int, second: int) -> QuorumHistory:
    """Serve two batches of these epochs."""
    return QuorumHistory().fetched((0, 3, first), (4, 8, second))


def diverging_fetch(end: int) -> QuorumHistory:
    """Answer a fetch past the end of epoch 1, which ends at offset 4."""
    return QuorumHistory().epochs(101, (1, 0), (4, 4)).fetched(offset=6, last=1, diverging=(1, end))


def second_vote(candidate: int) -> QuorumHistory:
    """Grant a vote of epoch 5 to 102, and another one of that epoch."""
    return QuorumHistory().vote(101, 102, 5, granted=True).vote(101, candidate, 5, granted=True)


def stored_votes(voted: int) -> QuorumHistory:
    """Read a vote for 102 from quorum-state, and another one of that epoch."""
    return QuorumHistory().stored(101, -1, 5, voted=102).stored(101, -1, 5, voted=voted)


def described_voter(id: int) -> QuorumHistory:
    """Describe a voter beside the three controllers."""
    return QuorumHistory().described(9, 9, 9, 9, watermark=9, voters=(101, 102, 103, id))


def described_ends(leaders: int) -> QuorumHistory:
    """Describe a log end of the leader beside that of a follower, 9."""
    return QuorumHistory().described(leaders, 9, 9, watermark=9)


def second_leader(epoch: int = 4) -> QuorumHistory:
    """Name a leader of epoch 4, and another one of an epoch."""
    return QuorumHistory().knows(101, 101, 4).knows(102, 102, epoch)


def fallen_epoch(epoch: int) -> QuorumHistory:
    """Kill a controller in epoch 4, after which it names another epoch."""
    return QuorumHistory().knows(101, 101, 4).fault("kill", 101).knows(101, -1, epoch)


def member_ahead() -> Pair:
    """Describe a member at the group's epoch, which has no assignment yet, or has one."""
    described = DescriptionHistory
    return described().group(4, assignment=3, epoch=4), described().group(4, assignment=4, epoch=4)


PAIRS: dict[str, Callable[[], Pair]] = {
    "offsets_of_committed_transactions_are_readable": dropped_offset,
    "refused_writes_are_never_read": refused_write,
    "acks_all_needs_min_insync_replicas": lonely_leader,
    "readers_miss_nothing_that_survives": reader_behind_a_truncation,
    "an_electable_replica_becomes_leader": leaderless_partition,
    "only_electable_replicas_lead": lambda: leader_out_of_the_isr(registered=False),
    "only_electable_replicas_are_registered": lambda: leader_out_of_the_isr(registered=True),
    "acknowledged_records_outlive_disks": acknowledged_and_lost,
    "other_log_directories_stay_online": failed_directory,
    "reassignment_keeps_enough_copies": reassignment_to_a_dead_broker,
    "states_of_a_partition_agree": leader_that_is_no_replica,
    "refused_commits_are_not_shown": refused_commit,
    "a_retried_batch_is_appended_once": retried_batch,
    "late_copy_of_a_deletion_deletes_nothing": late_deletion,
    "fetches_by_a_former_id_are_refused": fetch_by_a_former_id,
    "former_errors_are_not_answered": former_error,
    "majority_reaches_the_high_watermark": watermark_above_two_voters,
    "high_watermark_is_within_a_majority": watermark_above_two_voters,
    "high_watermark_never_falls": lambda: (fallen_watermark(8), fallen_watermark(-1)),
    "leaders_high_watermark_never_goes_back": lambda: (fallen_watermark(8), fallen_watermark(9)),
    "one_leader_in_each_epoch": lambda: (second_leader(), second_leader(5)),
    "epochs_of_a_node_never_decrease": lambda: (fallen_epoch(3), fallen_epoch(4)),
    "epoch_survives_restarts": lambda: (fallen_epoch(3), fallen_epoch(4)),
    "answers_name_the_leader_in_between": lambda: (untrue_answer(-1), untrue_answer(101)),
    "one_vote_and_one_leader": lambda: (second_vote(103), second_vote(102)),
    "stored_vote_and_leader_stay": lambda: (stored_votes(103), stored_votes(-1)),
    "votes_are_kept": lambda: (second_vote(103), second_vote(102)),
    "high_watermark_lies_in_its_epoch": lambda: (
        watermark_beside_the_epochs_start(4),
        watermark_beside_the_epochs_start(5),
    ),
    "high_watermark_is_known_after_the_epochs_start": lambda: (
        watermark_beside_the_epochs_start(4),
        watermark_beside_the_epochs_start(-1),
    ),
    "epochs_of_batches_never_fall": lambda: (log_of_epochs(4, 3), log_of_epochs(3, 4)),
    "committed_epochs_stay_in_order": lambda: (log_of_epochs(4, 3), log_of_epochs(3, 4)),
    "divergence_is_as_the_log_has_it": lambda: (diverging_fetch(5), diverging_fetch(4)),
    "brokers_only_observe": lambda: (described_voter(1), described_voter(104)),
    "observers_take_no_part": lambda: (described_voter(1), described_voter(104)),
    "leader_describes_itself_among_the_voters": lambda: (described_ends(8), described_ends(9)),
    "described_epochs_are_in_order": member_ahead,
    **gauge_pairs.PAIRS,
    **group_pairs.PAIRS,
    **metadata_log_pairs.PAIRS,
    **quorum_writes.PAIRS,
}
"""The pairs of the judges that no planted bug with a schedule makes report a violation, by the judge's function."""
