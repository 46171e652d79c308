"""Elections: an electable replica becomes leader in time (GEN-08), and no other replica does without permission (GEN-09)."""

from collections.abc import Iterator

from conformance.judging.excuses import ELECTION_DISTURBED, LOOKED_TOO_RARELY, Evidence
from conformance.judging.facts.log import PartitionAtBroker
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.registrations import EpochRegistration, EpochRegistrations
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.settings import unclean_election
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.timeline import CONVERGENCE_TIMEOUT, NEVER
from protocol.words import say

UNCLEAN_ELECTIONS_EVERY = 300.0
"""The interval in seconds at which a controller looks for leaderless partitions to elect uncleanly
(unclean.leader.election.interval.ms). It matters if unclean election was permitted only after the leader was lost."""

# --- an electable replica becomes leader


@log_judge("GEN-08", "metadata")
def an_electable_replica_becomes_leader(story: PartitionStory) -> Iterator[Claim]:
    """While an electable replica is alive, and no fault keeps it from the controllers, a leader is elected in time.

    A replica is electable if it is in ISR or ELR, or if the configuration in force permits an unclean election. In each epoch the
    first wait that a fault disturbs counts as an excuse.
    """
    disturbed: set[int] = set()
    registrations = story.derive(EpochRegistrations)
    waiting: _Waiting | None = None
    newest = -1
    for seen in story.metadata:
        if seen.epoch < newest:
            continue
        newest = seen.epoch
        able, case = _electable_replicas(story, registrations, seen)
        if waiting is not None and seen.leader >= 0 and seen.epoch > waiting.since.epoch:
            # Without a look in between it is unknown when the leader was elected.
            if waiting.seconds(seen) <= waiting.within:
                yield Finding(True, waiting.case, waiting.by(seen))
            waiting = None
        elif waiting is not None and not able:
            waiting = None
        elif waiting is not None and not waiting.is_left_alone(seen, able):
            if waiting.since.epoch not in disturbed:
                disturbed.add(waiting.since.epoch)
                yield Excuse(ELECTION_DISTURBED, waiting.case)
            waiting = None
        if waiting is None and able:
            waiting = _Waiting(story, seen, case)
        elif waiting is not None:
            yield from waiting.judge_at(seen)


class _Waiting:
    """A partition that has had no live leader since a Metadata answer, though a replica may be elected."""

    def __init__(self, story: PartitionStory, since: PartitionAtBroker, case: str) -> None:
        self.story, self.since, self.case = story, since, case
        self.reported = self.excused = False
        self.within = CONVERGENCE_TIMEOUT
        if case in ("switched-on", "cluster-default") and _was_permitted_later(story, since):
            self.within += UNCLEAN_ELECTIONS_EVERY

    def __str__(self) -> str:
        return (
            f"{self.since.node} named leader {self.since.leader} at epoch {self.since.epoch} with the ISR {say(self.since.isr)}, "
            f"and no leader acted for {self.within:g} s"
        )

    def seconds(self, seen: PartitionAtBroker) -> float:
        return self.story.timeline.time(seen.event) - self.story.timeline.time(self.since.event)

    def by(self, seen: PartitionAtBroker) -> tuple[int, int]:
        return self.since.event, seen.event

    def judge_at(self, seen: PartitionAtBroker) -> Iterator[Claim]:
        """Judge, once, if the bound has passed, counting the time for which the kit watched."""
        if self.reported or self.seconds(seen) <= self.within:
            return
        self.reported = self.story.timeline.watch_time(self.since.event, seen.event, self.within) > self.within
        if self.reported:
            yield Finding(False, self.case, self.by(seen), str(self), "stuck")
        elif not self.excused:
            self.excused = True
            yield Excuse(LOOKED_TOO_RARELY, self.case)

    def is_left_alone(self, seen: PartitionAtBroker, able: set[int]) -> bool:
        """True if no fault since then concerned the electable replicas, a controller, or the brokers that describe the partition.
        Faults that only froze nodes or failed a log directory, and were undone before, do not count."""
        timeline = self.story.timeline
        names = {timeline.names.get(id, "") for id in able} | {self.since.node, seen.node, *timeline.controller_names}
        spans = timeline.active_faults(self.since.event, seen.event)
        concerned = (span for span in spans if span.concerns(names, timeline.broker_names))
        return all(
            (span.effects.idles_processes or span.effects.fails_directory) and span.undone < self.since.event
            for span in concerned
        )


def _electable_replicas(
    story: PartitionStory, registrations: EpochRegistrations, seen: PartitionAtBroker
) -> tuple[set[int], str]:
    """Return the live replicas that may be elected, and the case; none unless the partition has no leader or its leader is
    certainly down."""
    if seen.leader >= 0 and not _is_down(story, seen, seen.leader):
        return set(), ""
    down = {id for id in seen.replicas if _is_down(story, seen, id)}
    described = registrations.of_epoch(seen.epoch)
    eligible = _eligible_replicas(story, described) if described is not None else ()
    alive = {*seen.unfenced} - down - {seen.leader}
    if clean := {*seen.isr, *eligible} & alive:
        return clean, _clean_case(story, seen, clean)
    return ({*seen.replicas} & alive, _permission_case(story, seen)) if _is_permitted(story, seen) else (set(), "")


def _clean_case(story: PartitionStory, seen: PartitionAtBroker, ids: set[int]) -> str:
    if not seen.isr:
        return "eligible"
    replaced = story.derive(ReplicaDamage).hit_all(ids, seen.event, lambda effects: effects.loses_log_dir)
    return "disk-replaced" if replaced else "clean"


def _eligible_replicas(story: PartitionStory, described: EpochRegistration) -> set[int]:
    """Return the eligible leader replicas that did not restart after they were described: a crash ends eligibility."""
    restarted = {
        node
        for span in story.timeline.spans
        if span.effects.begins_incarnation and span.ended > described.described
        for node in (span.nodes if not span.effects.every_broker else story.timeline.broker_names)
    }
    return {id for id in described.eligible or () if story.timeline.names.get(id, "") not in restarted}


def _is_permitted(story: PartitionStory, seen: PartitionAtBroker) -> bool:
    """True if the partition had no leader, and an unclean election was certainly permitted from the request to the answer."""
    setting = story.derive(unclean_election)
    return seen.leader < 0 and setting.possible_values(seen.asked, seen.event) == {"true"}


def _permission_case(story: PartitionStory, seen: PartitionAtBroker) -> str:
    if (permitted := story.derive(unclean_election).in_force(seen.asked)) is None:
        return "topic"
    if permitted.owner == "cluster":
        return "cluster-default"
    return "switched-on" if _was_permitted_later(story, seen) else "topic"


def _was_permitted_later(story: PartitionStory, seen: PartitionAtBroker) -> bool:
    """True if unclean election was permitted by a request sent after the partition had lost its leader."""
    permitted = story.derive(unclean_election).in_force(seen.asked)
    leaderless_since = story.derive(Leadership).first_named(seen.epoch)
    return seen.leader < 0 and permitted is not None and permitted.since > leaderless_since


def _is_down(story: PartitionStory, seen: PartitionAtBroker, id: int) -> bool:
    """True if the replica was certainly down, or without its log directory, from the request to the answer."""
    node = story.timeline.names.get(id, "")
    was_down = story.timeline.down(node, seen.asked, seen.event)
    return id in seen.replicas and (was_down or story.derive(Replicas).was_offline(node, seen.asked, seen.event))


# --- no other replica becomes leader


@log_judge("GEN-09", "metadata")
def only_electable_replicas_lead(story: PartitionStory) -> Iterator[Claim]:
    """A leaderless partition gets a leader from ISR or ELR, or its last known leader once both are empty, or another replica by
    permission.

    An election counts only if a replica that may not lead was alive. While there is no leader, ISR and ELR may lose members but
    gain none. If the metadata log was read, `conformance.judging.log.registered_elections` judges by it instead.
    """
    if story.registered_states:
        return
    leadership = story.derive(Leadership)
    for before in story.derive(EpochRegistrations).leaderless():
        successor = leadership.leaders.get(before.epoch + 1)
        elected = story.timeline.ids.get(successor, -1) if successor is not None else -1
        case = election_case(story, before.electable, before.event)
        if before.electable is None or elected < 0:
            continue
        by = (before.event, max(before.event, leadership.first_named(before.epoch + 1)))
        if _may_lead(story, before, elected):
            if before.others_alive or case == "last-known":
                yield Finding(True, case, by)
        elif (permission := _permits(story, before)) is not None:
            yield Excuse(permission, case)
        else:
            yield Finding(False, case, by, _election_in_words(before, elected), "unclean-leader")


def election_case(story: PartitionStory, electable: frozenset[int] | None, event: int) -> str:
    """Return the case of GEN-09, from the replicas that may lead (as in `EpochRegistration`), faults and settings."""
    if electable == frozenset():
        return "last-known"
    if story.derive(ReplicaDamage).hit_all(electable or (), event, lambda effects: effects.damages_log):
        return "disk-lost"
    setting = story.derive(unclean_election).in_force(event)
    return "explicitly-off" if setting is not None and (setting.text, setting.owner) == ("false", "topic") else "silent"


def _may_lead(story: PartitionStory, before: EpochRegistration, elected: int) -> bool:
    if before.electable:
        return elected in before.electable
    former = story.timeline.ids.get(story.derive(Leadership).leaders.get(before.epoch - 1, ""), -1)
    return elected in (before.last_known or (former,))


def _permits(story: PartitionStory, before: EpochRegistration) -> Evidence | None:
    return story.derive(PermittedLosses).permission_to_elect((before.epoch, NEVER), (before.epoch + 1, NEVER))


def _election_in_words(before: EpochRegistration, elected: int) -> str:
    known = f"ISR {say(before.isr)}, ELR {say(before.eligible)}, last known leader {say(before.last_known)}"
    return f"replica {elected} leads at epoch {before.epoch + 1}; before, at epoch {before.epoch}, there was no leader: {known}"
