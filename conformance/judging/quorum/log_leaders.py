"""Leaders in the metadata log: how an epoch begins, which node led it, and the records that a later leader must have
(KIP-595)."""

from collections.abc import Iterator, Mapping

from conformance.judging.facts.metadata_log import MetadataLogOnDisk
from conformance.judging.facts.quorum import KnownLeader
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.quorum.evidence import METADATA_LOG_TORN
from conformance.judging.quorum.logs_on_disk import MetadataLogs, Watermark, first_batches, first_gap
from conformance.judging.quorum.story import QuorumStory, excuses
from conformance.judging.quorum.votes import Ballot, votes_given
from history.readings import LeaderChange, LoggedBatch
from protocol.words import say


@story_judge("KIP595-LOG-01", QuorumStory, "logs")
def leader_change_opens_each_epoch(story: QuorumStory) -> Iterator[Claim]:
    """The first batch of an epoch names its leader and the voters."""
    yield from excuses(story, story.logs, "first-batch", alone=True)
    voters, exact = _voters(story)
    known = _leaders_named(story)
    for read in story.judgeable_facts(story.logs):
        changes = {one.offset: one for one in read.held.leader_changes}
        for batch in first_batches(read):
            wrong = _wrong_with(batch, changes.get(batch.base_offset), voters, exact=exact)
            other = known.get(batch.leader_epoch)
            if not wrong and other is not None and other.leader != changes[batch.base_offset].leader:
                wrong = f"names leader {changes[batch.base_offset].leader}, and {other}"
            shown = (
                f"{read.node}: the first batch of epoch {batch.leader_epoch}, at offset {batch.base_offset}, {wrong}"
            )
            by = (other.event, read.event) if other is not None else (read.event,)
            yield Finding(not wrong, "first-batch", by, shown, "epoch-not-opened")


def _voters(story: QuorumStory) -> tuple[set[int], bool]:
    """Return the voters that are known, and whether these are all. A history of an older kit does not say which voters the kit
    plays: it may play those that nodes describe."""
    voters = {story.timeline.ids[name] for name in story.timeline.controller_names}
    scripted = story.timeline.scripted_voters
    if scripted is not None:
        return voters | scripted, True
    described = story.judgeable_facts(story.described)
    all_described = {voter.replica_id for one in described for voter in one.said.current_voters}
    return voters, not story.is_scripted and all_described <= voters


def _leaders_named(story: QuorumStory) -> Mapping[int, KnownLeader]:
    """Return the first leader that was named for each epoch."""
    return {one.epoch: one for one in reversed(story.comparable_facts(story.known)) if one.leader >= 0}


def _wrong_with(batch: LoggedBatch, change: LeaderChange | None, voters: set[int], *, exact: bool) -> str:
    """Return a description of the error in the first batch of an epoch; empty without one. Unless `exact`, there may be
    further voters."""
    if change is None or change.epoch != batch.leader_epoch:
        return "has no LeaderChange record"
    if not (voters == {*change.voters} if exact else voters <= {*change.voters}):
        return f"names voters {say(change.voters)}, and the voters are {say(sorted(voters))}"
    if change.leader not in change.voters:
        return f"names leader {change.leader}, who is none of its voters {say(change.voters)}"
    return ""


def _granted_by_a_majority(story: QuorumStory, case: str) -> Iterator[Claim]:
    yield from excuses(story, story.logs, case, alone=True)
    for read in story.judgeable_facts(story.logs):
        for one in read.held.leader_changes:
            granting = {*one.granting}
            held = one.leader in granting and granting <= {*one.voters} and 2 * len(granting) > len(one.voters)
            shown = f"{read.node}: leader {one.leader} of epoch {one.epoch}, with voters {say(one.voters)}, has the grants of "
            yield Finding(held, case, (read.event,), shown + (say(one.granting) or "none"), "no-majority")


@story_judge("KIP595-LOG-01", QuorumStory, "logs")
def leader_change_names_a_majority(story: QuorumStory) -> Iterator[Claim]:
    """A LeaderChange record names a majority that granted its votes, including the leader."""
    yield from _granted_by_a_majority(story, "granting-voters")


@story_judge("KIP595-INV-16", QuorumStory, "logs")
def leaders_were_granted_by_a_majority(story: QuorumStory) -> Iterator[Claim]:
    """Each LeaderChange names a majority that granted its votes, as an invariant."""
    yield from _granted_by_a_majority(story, "log")


@story_judge("KIP595-INV-16", QuorumStory, "logs", "votes", "states")
def granting_voters_voted_for_the_leader(story: QuorumStory) -> Iterator[Claim]:
    """No voter that a LeaderChange record counts voted for another candidate in that epoch, by its answers and its disk."""
    cast: dict[tuple[int, int], Ballot] = {}
    for vote in story.judgeable_facts(story.derive(votes_given)):
        cast.setdefault((story.timeline.ids[vote.node], vote.epoch), vote)
    for read in story.judgeable_facts(story.logs):
        for one in read.held.leader_changes:
            for ballot in filter(None, (cast.get((voter, one.epoch)) for voter in one.granting)):
                shown = f"{read.node}: leader {one.leader} of epoch {one.epoch} has the grant of {ballot.node}, and {ballot}"
                held = ballot.voted == one.leader
                yield Finding(held, "log", (ballot.event, read.event), shown, "granted-to-another")


@story_judge("KIP595-INV-01", QuorumStory, "logs")
def logs_name_one_leader_of_each_epoch(story: QuorumStory) -> Iterator[Claim]:
    """LeaderChange records of one epoch name the same leader on all nodes, and it is the one that answers name."""
    yield from excuses(story, story.logs, "log")
    logs, named = story.derive(MetadataLogs), _leaders_named(story)
    first: dict[int, tuple[int, int, str]] = {
        one.epoch: (one.leader, one.event, str(one)) for one in named.values()
    }  # fmt: skip
    for read in logs.reads:
        for change in read.held.leader_changes:
            shown = f"the log of {read.node} has leader {change.leader} in epoch {change.epoch}"
            leader, event, earlier = first.setdefault(change.epoch, (change.leader, read.event, shown))
            if event != read.event:
                yield Finding(leader == change.leader, "log", (event, read.event), f"{earlier}; {shown}", "two-leaders")


def _without_brokers(story: QuorumStory) -> Iterator[Claim]:
    yield from excuses(story, story.logs, "log", alone=True)
    brokers = {story.timeline.ids[name] for name in story.timeline.broker_names - story.timeline.controller_names}
    for read in story.judgeable_facts(story.logs) if brokers else ():
        changes = read.held.leader_changes
        wrong = next((one for one in changes if brokers & {one.leader, *one.voters, *one.granting}), None)
        shown = f"{read.node}: the LeaderChange record of epoch {wrong.epoch} names a broker" if wrong else ""
        if changes:
            yield Finding(wrong is None, "log", (read.event,), shown, "broker-in-election")


@story_judge("KIP595-INV-15", QuorumStory, "logs")
def no_observer_is_in_a_leader_change(story: QuorumStory) -> Iterator[Claim]:
    """No LeaderChange record names a broker as leader, voter or granting voter."""
    yield from _without_brokers(story)


@story_judge("KIP595-OBS-01", QuorumStory, "logs")
def no_broker_is_in_a_leader_change(story: QuorumStory) -> Iterator[Claim]:
    """No LeaderChange record names a broker, as the row about brokers requires."""
    yield from _without_brokers(story)


@story_judge("KIP595-INV-09", QuorumStory, "logs")
def leader_begins_above_all_committed_records(story: QuorumStory) -> Iterator[Claim]:
    """A new leader's LeaderChange is at or above all high watermarks of earlier epochs."""
    yield from excuses(story, story.logs, "new-leader")
    logs = story.derive(MetadataLogs)
    for change, read in logs.leader_changes():
        known = logs.watermark(read.asked, upto=change.epoch - 1)
        if known is not None:
            shown = f"leader {change.leader} began epoch {change.epoch} at offset {change.offset}, "
            shown += f"and the high watermark of epoch {known.epoch} had been {known.offset}"
            held = change.offset >= known.offset
            yield Finding(held, "new-leader", (known.event, read.event), shown, "short-leader")


@story_judge("KIP595-LOG-03", QuorumStory, "logs")
def later_leaders_hold_what_was_committed(story: QuorumStory) -> Iterator[Claim]:
    """The log of each later leader has all offsets below a high watermark, with the same bytes as on other nodes."""
    yield from excuses(story, story.logs, "later-leader")
    logs = story.derive(MetadataLogs)
    for change, _ in logs.leader_changes():
        own = logs.latest.get(story.timeline.names.get(change.leader, ""))
        known = logs.watermark(own.asked, upto=change.epoch - 1) if own is not None else None
        if own is None or known is None or own.held.log_start >= known.offset:
            continue
        if own.held.torn and own.held.log_end < known.offset:
            yield Excuse(METADATA_LOG_TORN, "later-leader")
        else:
            yield _holds_all_below(known, own, change, logs)


def _holds_all_below(known: Watermark, own: MetadataLogOnDisk, change: LeaderChange, logs: MetadataLogs) -> Finding:
    led = f"{own.node}, which led epoch {change.epoch},"
    missing = first_gap(own.held.batches, own.held.log_start, known.offset)
    shown = (
        f"{led} has nothing at offset {missing}, and the high watermark of epoch {known.epoch} had been {known.offset}"
    )
    others = [one for one in logs.latest.values() if one.node != own.node and one.last_epoch >= known.epoch]
    for other in others if missing is None else ():
        missing = _differing(own, other, known.offset)
        if missing is not None:
            shown = (
                f"{led} has other bytes than {other.node} at offset {missing}, below the high watermark {known.offset}"
            )
            break
    by = (known.event, own.event, *(one.event for one in others))
    return Finding(missing is None, "later-leader", by, shown, "incomplete-leader")


def _differing(one: MetadataLogOnDisk, other: MetadataLogOnDisk, below: int) -> int | None:
    """Return the first offset between both log starts and a given offset at which two logs have different batches."""
    mine = {batch.base_offset: batch for batch in one.held.batches}
    shared = (batch for batch in other.held.batches if batch.last_offset < below)
    wrong = (b.base_offset for b in shared if b.base_offset >= one.held.log_start and mine.get(b.base_offset) != b)
    return next(wrong, None)
