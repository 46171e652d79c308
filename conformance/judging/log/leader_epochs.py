"""Leader epochs (KIP-101, KIP-320): each has one leader, and a broker at an epoch must serve some requests and refuse others."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.judging.excuses import COMPACTED, EPOCH_CACHE_LOST, REASSIGNED, TRUNCATED_MEANWHILE, Evidence
from conformance.judging.facts import log as facts
from conformance.judging.facts.exchange import by_event
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.known_epochs import KnownEpochs, ServedRequest, ServingLeader
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.timeline import NEVER, FaultSpan
from protocol.codes import Error
from protocol.words import say_error

FENCES = frozenset((Error.FENCED_LEADER_EPOCH, Error.UNKNOWN_LEADER_EPOCH))
COULD_NOT = frozenset((Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.REQUEST_TIMED_OUT))


# --- leader epoch caches


@log_judge("KIP101-INV-04", "on_disk")
def leader_epoch_caches_match_the_log(story: PartitionStory) -> Iterator[Claim]:
    """At rest, epochs and start offsets in a leader epoch cache rise, and each epoch in the log has an entry that begins and ends
    where the epoch does."""
    replicas, damage = story.derive(Replicas), story.derive(ReplicaDamage)
    highest_start = story.derive(LogStarts).highest
    starts = {read.node: read.log_start for read in story.full_reads}
    for disk in story.on_disk:
        entries = disk.epochs or ()
        if not story.is_at_rest(disk) or not replicas.is_replica(disk.node):
            continue
        if may_be_compacted(story, disk.event) or damage.damage_at(disk.node, disk.event) == EPOCH_CACHE_LOST:
            yield Excuse(COMPACTED if may_be_compacted(story, disk.event) else EPOCH_CACHE_LOST, "covered")
            continue
        # The log start is written after the log: records below it are still in their segment, and after a crash it may fall back
        # below the first entry, which was moved up with it.
        first = min(entries[0][1], highest_start) if entries else 0
        low = max(disk.log_start, starts.get(disk.node, 0), first)
        held = [(base, epoch) for base, last, epoch, _ in disk.batches if last >= low]
        shown = (
            f"{disk.node} has the leader epoch cache {facts.say_epochs(entries)}, and from offset {low} on batches of "
        )
        shown += facts.say_epochs([(epoch, base) for base, epoch in held])
        rising = all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(entries))
        if len(entries) > 1:
            yield Finding(rising, "increasing", (disk.event,), shown, "epoch-regression")
        if held:
            epochs = {epoch for _, epoch in held}
            yield Finding(epochs <= {epoch for epoch, _ in entries}, "covered", (disk.event,), shown)
            empty = [epoch for epoch, start in entries if start >= low and epoch not in epochs]
            fine = _is_bounded_alike(entries, held) and not any(_never_led(story, disk, epoch) for epoch in empty)
            yield Finding(fine, "bounds", (disk.event,), shown)


def _is_bounded_alike(entries: tuple[tuple[int, int], ...], held: list[tuple[int, int]]) -> bool:
    """True if entries begin and end where the epochs of the batches do.

    The first entry may have moved up to the log start; a batch that contains the log start begins below it.
    """
    for (epoch, start), (_, end) in pairwise((*entries, (-1, 1 << 62))):
        head = (epoch, start) == entries[0]
        if any(held_epoch == epoch and base < start for base, held_epoch in held) and not head:
            return False
        if any(held_epoch > epoch and start <= base < end for base, held_epoch in held):
            return False
    return True


def _never_led(story: PartitionStory, disk: facts.ReplicaOnDisk, epoch: int) -> bool:
    """True if another replica led at this epoch, or the epoch is above the one that the broker names afterwards.

    A follower adds an epoch to its cache with the epoch's first batch; only a leader adds one without a batch.
    """
    named = (seen.epoch for seen in story.metadata if seen.node == disk.node and seen.asked > disk.event)
    return story.derive(Leadership).leaders.get(epoch, disk.node) != disk.node or next(named, epoch) < epoch


# --- epochs in answers


@log_judge("KIP101-INV-10", "metadata", "errors")
def metadata_epochs_never_decrease(story: PartitionStory) -> Iterator[Claim]:
    """In the answers of one broker incarnation, the leader epoch in Metadata and the epoch by which it fences never decrease."""
    # An unchanged epoch is worth recording only where it might have changed.
    pairs = [
        (before, seen)
        for view in story.metadata_by_incarnation.values()
        for before, seen in pairwise(view)
        if (before.faults != seen.faults or before.epoch != seen.epoch) and _may_differ(story, before, seen)
    ]
    for before, seen in sorted(pairs, key=lambda pair: pair[1].event):
        shown = (
            ""
            if seen.epoch >= before.epoch
            else f"{seen.node} answered Metadata with epoch {before.epoch}, then with {seen.epoch}"
        )
        yield Finding(seen.epoch >= before.epoch, "answers", (before.event, seen.event), shown, "epoch-regression")
    yield from _fences_never_fall(story)


def _may_differ(story: PartitionStory, before: facts.PartitionAtBroker, seen: facts.PartitionAtBroker) -> bool:
    if before.event >= seen.asked:
        return False
    return before.epoch != seen.epoch or story.timeline.fault_between(before.event, seen.asked)


def _fences_never_fall(story: PartitionStory) -> Iterator[Claim]:
    """Judge that a broker's epoch does not fall while it runs: after it answered FENCED_LEADER_EPOCH to one epoch, it never
    answers UNKNOWN_LEADER_EPOCH to that epoch, to an older one, or to the next."""
    knowledge = story.derive(KnownEpochs)
    floors: dict[tuple[str, int], facts.ErrorResponse] = {}
    replicas = story.derive(Replicas)
    for refusal in (one for one in story.errors if one.cur >= 0 and one.replica_id < 0):
        key = (refusal.node, refusal.incarnation)
        floor = floors.get(key)
        if not replicas.was_always_replica(refusal.node, refusal.event):
            # A broker without a replica answers UNKNOWN_LEADER_EPOCH at any epoch (KIP320-FETCH-13).
            yield from [Excuse(REASSIGNED, "fence")] if refusal.error in FENCES else []
        elif refusal.error == Error.FENCED_LEADER_EPOCH and (floor is None or refusal.cur > floor.cur):
            floors[key] = refusal
        elif refusal.error == Error.UNKNOWN_LEADER_EPOCH and floor is not None and floor.event < refusal.asked:
            shown = f"{refusal.node} was past epoch {floor.cur}, then knew none from {refusal.cur} on"
            by = (floor.event, refusal.event)
            yield Finding(refusal.cur > floor.cur + 1, "fence", by, shown, "epoch-regression")
        elif refusal.error == Error.UNKNOWN_LEADER_EPOCH and not knowledge.event_at_epoch(refusal, refusal.cur):
            served = knowledge.event_at_epoch(refusal, 0)
            yield from [Finding(True, "fence", (served, refusal.event))] if served else []


@log_judge("KIP101-INV-11", "metadata", "errors")
def one_leader_per_epoch(story: PartitionStory) -> Iterator[Finding]:
    """No epoch has two leaders, in the answers of any broker."""
    first: dict[int, tuple[int, int]] = {}
    known: set[tuple[str, int, int]] = set()
    for seen in story.changed_metadata:
        event, leader = first.setdefault(seen.epoch, (seen.event, seen.leader)) if seen.leader >= 0 else (-1, -1)
        # A broker may repeat its answer.
        if leader >= 0 and event != seen.event and (one := (seen.node, seen.epoch, seen.leader)) not in known:
            known.add(one)
            shown = (
                ""
                if leader == seen.leader
                else f"{seen.node} named {seen.leader} as the leader at epoch {seen.epoch}, at which {leader} had been named"
            )
            yield Finding(leader == seen.leader, "metadata", (event, seen.event), shown)
    for refusal in story.errors:
        if refusal.hint is not None and refusal.hint[1] >= 0:
            epoch, named = refusal.hint
            event, leader = first.setdefault(epoch, (refusal.event, named))
            if event != refusal.event:
                shown = (
                    f"{refusal.node} answered a Fetch with {named} as the leader at epoch {epoch}, at which "
                    f"{leader} had been named"
                )
                yield Finding(leader == named, "hint", (event, refusal.event), shown)


@log_judge("KIP101-EPOCH-02", "metadata", "registered")
def every_change_of_leader_raises_the_epoch(story: PartitionStory) -> Iterator[Finding]:
    """If the leader changes or is lost in the answers of one broker incarnation, or of a controller, the epoch rises."""
    yield from _registered_changes(story)
    for view in story.metadata_by_incarnation.values():
        leader: facts.PartitionAtBroker | None = None
        gap: list[facts.PartitionAtBroker] = []
        for before, seen in pairwise(view):
            leader = before if before.leader >= 0 else leader
            gap = [*gap, before] if before.leader < 0 else []
            if before.state is seen.state and seen.leader >= 0:
                continue
            if before.leader >= 0 and seen.leader >= 0 and before.leader != seen.leader:
                yield _epoch_rises(before, seen, "moved")
            elif before.leader < 0 and leader is not None and _has_resigned(leader, before, seen):
                if len(gap) == 1 or seen.epoch <= leader.epoch:
                    yield _epoch_rises(leader, seen, "leaderless")
            elif before.leader < 0 <= seen.leader and _was_leaderless(story, leader, gap, seen):
                yield _epoch_rises(before, seen, "leaderless")


def _registered_changes(story: PartitionStory) -> Iterator[Finding]:
    """Judge the changes in a controller's own log, which names the leader even while no broker is up."""
    last: dict[str, facts.RegisteredPartition] = {}
    for seen in story.registered:
        before = last.get(seen.node)
        if before is not None and before.leader != seen.leader and seen.node not in story.timeline.broker_names:
            yield _epoch_rises(before, seen, "moved" if min(before.leader, seen.leader) >= 0 else "leaderless")
        last[seen.node] = seen


Described = facts.PartitionAtBroker | facts.RegisteredPartition


def _epoch_rises(before: Described, seen: Described, case: str) -> Finding:
    shown = (
        f"{seen.node} named leader {before.leader} at epoch {before.epoch}, then {seen.leader} at epoch {seen.epoch}"
    )
    return Finding(seen.epoch > before.epoch, case, (before.event, seen.event), shown, "epoch-regression")


def _has_resigned(
    leader: facts.PartitionAtBroker, before: facts.PartitionAtBroker, seen: facts.PartitionAtBroker
) -> bool:
    """True if the former leader is alive but no longer leads. A fenced leader is not named either, although it goes on leading.

    Two answers are needed, since brokers and partitions in one answer may come from two versions of the metadata.
    """
    alone = seen.leader < 0 and before.epoch == seen.epoch
    return alone and leader.leader in before.unfenced and leader.leader in seen.unfenced


def _was_leaderless(
    story: PartitionStory,
    led: facts.PartitionAtBroker | None,
    gap: list[facts.PartitionAtBroker],
    seen: facts.PartitionAtBroker,
) -> bool:
    """True if the partition certainly had no leader at the previously described epoch, before it got the current one.

    Two consecutive answers must name no leader, while the former leader stays alive, or is fenced and goes on as the same
    process. A restarted broker is fenced until it has registered, and may lead all the while (KAFKA-18106).
    """
    same = [one for one in gap if one.epoch == gap[-1].epoch]
    if len(same) < 2 or same[-1].asked < same[-2].event:
        return False
    node = story.timeline.names.get(seen.leader, "")
    alive = [seen.leader in one.unfenced for one in same]
    lives = {story.timeline.incarnation(node, event) for event in ((led or same[0]).asked, seen.event)}
    return all(alive) or (not any(alive) and len(lives) == 1)


@log_judge("KIP101-EPOCH-04", "reads")
def a_restarted_leader_starts_a_new_epoch(story: PartitionStory) -> Iterator[Finding]:
    """A broker that crashed while it led does not lead at the same epoch again. Crashes in controller faults do not count."""
    leadership = story.derive(Leadership)
    disturbed = [span for span in story.timeline.spans if set(span.nodes) - story.timeline.broker_names]
    for crash in story.timeline.spans:
        led = leadership.newest_epoch_before(crash.began)
        if not crash.effects.certainly_crashes or (leadership.leaders.get(led),) != crash.nodes:
            continue
        # A broker whose disk refuses writes ends itself only at its next write.
        ended = crash.ended if crash.effects.fails_writes else crash.witnessed
        back = next((read for read in story.reads if read.asked > ended and _leads(story, read, crash)), None)
        if back is not None and not any(crash.began < one.ended and one.began < back.event for one in disturbed):
            shown = f"{back.node} led at epoch {led}, crashed, and leads at epoch {back.cur} again"
            yield Finding(back.cur > led, "broker", (crash.began, back.event), shown, "epoch-regression")


def _leads(story: PartitionStory, read: facts.FetchResult, crash: FaultSpan) -> bool:
    leadership = story.derive(Leadership)
    leads = leadership.is_from_leader(read) and read.cur == leadership.newest_epoch_before(read.asked)
    return read.node in crash.nodes and leads


# --- what is served at an epoch


@log_judge("KIP101-INV-12", "reads")
def fetches_return_no_later_epochs(story: PartitionStory) -> Iterator[Claim]:
    """A fetch that names an epoch and is answered without an error returns no batch of a later epoch.

    A log that is truncated and appended to while a response is being sent may show later epochs. So an answer with later epochs
    counts only if the broker was past the epoch before the request, or still serves it later. An answer without later epochs
    counts only after a change of leader: before that there are none.
    """
    knowledge, leadership = story.derive(KnownEpochs), story.derive(Leadership)
    for read in story.reads:
        if read.cur < 0 or not read.batches:
            continue
        newest = max(batch.epoch for batch in read.batches)
        case = "leader" if leadership.is_from_leader(read) else "follower"
        if newest <= read.cur:
            yield from [Finding(True, case, (read.event,))] if _leader_has_moved(story, read) else []
        elif knowledge.event_past_epoch(read) or knowledge.event_serving_later(read):
            shown = f"{read.node} answered a fetch at epoch {read.cur} with records of epoch {newest}"
            yield Finding(False, case, (read.event,), shown, "fence-leak")
        else:
            yield Excuse(TRUNCATED_MEANWHILE, case)


def _leader_has_moved(story: PartitionStory, read: facts.FetchResult) -> bool:
    leadership = story.derive(Leadership)
    return leadership.newest_epoch_before(read.event) > leadership.first_epoch


@log_judge("KIP101-INV-15", "reads", "produced")
def former_leaders_commit_nothing(story: PartitionStory) -> Iterator[Claim]:
    """Once its successor acts at a newer epoch, a former leader acknowledges no write with acks=all, and the records that it
    appends stay uncommitted.

    Metadata shows an epoch a moment before the new leader applies it and stops fetching at the old one. After an unclean election
    the former leader may be alone in its ISR and commit records that will be lost.
    """
    knowledge, leadership = story.derive(KnownEpochs), story.derive(Leadership)
    if not knowledge.has_successors:
        return
    epochs = {record: batch.epoch for batch, _ in reversed(story.batches) for record in batch.records}
    for write in (one for one in story.produced if one.acks == -1):
        acting = knowledge.successor(write.node, write.asked)
        if acting is None:
            continue
        stale = leadership.leaders.get(leadership.newest_epoch_before(write.event)) != write.node
        epoch = epochs.get((write.offset, write.values[0])) if write.values else None
        passed_over = _why_passed_over(story, acting)
        if write.is_committed and (
            epoch < acting.cur if epoch is not None else _is_of_no_later_epoch(story, write, acting)
        ):
            shown = f"{write.node} acknowledged offset {write.offset} after {acting.node} led at epoch {acting.cur}"
            by = (acting.event, write.event)
            if passed_over is None:
                yield Finding(False, "acks-all", by, shown, "fence-leak")
            else:
                yield Excuse(passed_over, "acks-all")
        elif stale and write.error in COULD_NOT and passed_over is None:
            yield Finding(True, "acks-all", (acting.event, write.event))
    yield from _frozen_watermarks(story, knowledge)


def _why_passed_over(story: PartitionStory, acting: ServingLeader) -> Evidence | None:
    """Return the unclean election that may have left the former leader alone in its ISR."""
    return story.derive(PermittedLosses).permission_to_elect((acting.stale, NEVER), (acting.cur, NEVER))


def _is_of_no_later_epoch(story: PartitionStory, write: facts.ProduceResult, acting: ServingLeader) -> bool:
    """True if a write that was never read cannot have been acknowledged at an epoch after the successor's.

    At such an epoch the write would have been below the high watermark ever since.
    """
    leadership = story.derive(Leadership)
    later = {epoch for epoch in leadership.epochs_of(write.node) if epoch > acting.cur}
    refuted = {
        read.cur
        for read in leadership.leader_reads
        if read.cur in later and read.asked > write.event and 0 <= read.high_watermark <= write.offset
    }
    return later == refuted


def _frozen_watermarks(story: PartitionStory, knowledge: KnownEpochs) -> Iterator[Claim]:
    """Judge that records that a former leader appends are never below its high watermark. Records that it appended earlier may
    be, if followers fetched them in time."""
    bounds: dict[tuple[str, int], tuple[int, int]] = {}
    both: list[facts.ProduceResult | facts.FetchResult] = [*story.produced, *story.derive(Leadership).leader_reads]
    for answer in sorted(both, key=by_event):
        if (acting := knowledge.successor(answer.node, answer.asked)) is None:
            continue
        key = (answer.node, acting.stale)
        if isinstance(answer, facts.ProduceResult):
            if answer.acks == 1 and answer.error == 0 and answer.offset >= 0:
                bounds.setdefault(key, (answer.event, answer.offset))
        elif answer.cur == acting.stale and not knowledge.event_past_epoch(answer):
            bound, passed_over = bounds.get(key), _why_passed_over(story, acting)
            if bound is not None and passed_over is not None:
                yield from [Excuse(passed_over, "watermark")] if answer.high_watermark > bound[1] else []
            elif bound is not None:
                event, offset = bound
                appended = f"{answer.node} appended offset {offset} at epoch {answer.cur}"
                shown = f"{appended} and committed up to {answer.high_watermark}"
                by = (acting.event, event, answer.event)
                yield Finding(answer.high_watermark <= offset, "watermark", by, shown, "fence-leak")
            elif answer.full and passed_over is None:
                bounds[key] = (answer.event, answer.log_end)


# --- fences


@log_judge("KIP320-FETCH-01", "reads", "errors")
def fetches_at_the_current_epoch_are_served(story: PartitionStory) -> Iterator[Claim]:
    """A fetch that names the broker's own epoch is not refused."""
    yield from _served_and_falsely_fenced(story, "fetch")


@log_judge("KIP320-OFLE-06", "epoch_ends", "errors")
def offset_for_leader_epoch_is_fenced(story: PartitionStory) -> Iterator[Claim]:
    """OffsetForLeaderEpoch is refused for an older epoch, and never for the broker's own."""
    yield from _served_and_falsely_fenced(story, "offset_for_leader_epoch")
    yield from _stale_answers(story, "offset_for_leader_epoch")


@log_judge("KIP320-LO-05", "listed", "errors")
def list_offsets_is_fenced(story: PartitionStory) -> Iterator[Claim]:
    """ListOffsets is refused for an older epoch, and never for the broker's own."""
    yield from _served_and_falsely_fenced(story, "list_offsets")
    yield from _stale_answers(story, "list_offsets")


@log_judge("KIP320-FETCH-02", "reads", "errors")
def fetches_at_an_older_epoch_are_fenced(story: PartitionStory) -> Iterator[Claim]:
    """A fetch is refused for an epoch that the broker has passed."""
    yield from _stale_answers(story, "fetch")


@log_judge("KIP320-FETCH-03", "reads", "errors")
def fetches_at_an_unknown_epoch_are_refused(story: PartitionStory) -> Iterator[Finding]:
    """A fetch is refused for an epoch that no broker had reached when all agreed."""
    if story.timeline.rest < 0:
        return
    leadership = story.derive(Leadership)
    newest = leadership.newest_epoch_before(NEVER)
    answers: list[ServedRequest | facts.ErrorResponse] = [
        one for one in story.derive(KnownEpochs).answers if one.op == "fetch"
    ]
    answers += [one for one in story.errors if one.op == "fetch" and one.error == Error.UNKNOWN_LEADER_EPOCH]
    for one in answers:
        if newest < one.cur and one.event < story.timeline.rest and one.replica_id == facts.CONSUMER:
            shown = f"{one.node} served a fetch at epoch {one.cur}, although {newest} is the newest that any broker had"
            case = "consumer" if leadership.leaders.get(newest) == one.node else "follower"
            yield Finding(isinstance(one, facts.ErrorResponse), case, (one.event,), shown, "fence-leak")


def _case(story: PartitionStory, op: str, answer: ServedRequest | facts.ErrorResponse) -> str:
    if op == "fetch":
        return "consumer" if story.derive(Leadership).is_from_leader(answer) else "follower"
    return "equal" if op == "offset_for_leader_epoch" else "served"


def _served_and_falsely_fenced(story: PartitionStory, op: str) -> Iterator[Claim]:
    knowledge, leadership, replicas = story.derive(KnownEpochs), story.derive(Leadership), story.derive(Replicas)
    for one in knowledge.answers:
        usual = one.replica_id == facts.CONSUMER and (op == "fetch" or leadership.is_from_leader(one))
        if one.op == op and usual and story.is_at_rest(one) and one.cur == leadership.newest_epoch_before(one.asked):
            yield Finding(True, _case(story, op, one), (one.event,))
    for refusal in (one for one in story.errors if one.op == op and one.cur >= 0 and one.replica_id < 0):
        proof = _false_fence(story, knowledge, refusal)
        if proof and not replicas.was_always_replica(refusal.node, refusal.event):
            yield Excuse(REASSIGNED, _case(story, op, refusal))
        elif proof:
            shown = f"{refusal.node} refused a request at epoch {refusal.cur}, its own, with {say_error(refusal.error)}"
            yield Finding(False, _case(story, op, refusal), (refusal.event, proof), shown, "false-fence")


def _false_fence(story: PartitionStory, knowledge: KnownEpochs, refusal: facts.ErrorResponse) -> int:
    """Return the event that proves the refusal wrong; 0 without one.

    UNKNOWN_LEADER_EPOCH is wrong if the broker had acted at the epoch before. FENCED_LEADER_EPOCH is wrong if the broker serves
    that epoch afterwards, or if neither it nor any other broker names a later one.
    """
    if refusal.error == Error.UNKNOWN_LEADER_EPOCH:
        return knowledge.event_at_epoch(refusal, refusal.cur)
    if refusal.error == Error.FENCED_LEADER_EPOCH:
        proof = knowledge.event_still_at_epoch(refusal)
        return proof if story.derive(Leadership).newest_epoch_before(proof) <= refusal.cur else 0
    return 0


def _stale_answers(story: PartitionStory, op: str) -> Iterator[Claim]:
    """Judge answers to requests with an epoch that the same broker incarnation had passed before."""
    knowledge, replicas = story.derive(KnownEpochs), story.derive(Replicas)
    answers: list[ServedRequest | facts.ErrorResponse] = [one for one in knowledge.answers if one.op == op]
    answers += [one for one in story.errors if one.op == op and one.error == Error.FENCED_LEADER_EPOCH and one.cur >= 0]
    for one in answers:
        if one.replica_id >= 0 or not (proof := knowledge.event_past_epoch(one)):
            continue
        case = "consumer" if op == "fetch" else "older"
        if not replicas.was_always_replica(one.node, one.event):
            yield Excuse(REASSIGNED, case)
            continue
        fine = isinstance(one, facts.ErrorResponse)
        shown = "" if fine else f"{one.node} served a request at epoch {one.cur}, though it knew a later one"
        yield Finding(fine, case, (proof, one.event), shown, "fence-leak")
