"""Losses that a cluster declared: the only reasons for which an acknowledged record may be gone (KIP-101, KIP-966).

Evidence is an unclean election that was requested or configured; the ISR, eligible and last known leaders as described; an
unclean shutdown; and the effects of an injected fault. It is never enough that something might have happened unseen.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import inf
from typing import NamedTuple

from conformance.judging import excuses
from conformance.judging.facts.log import UncleanElectionResult
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership, may_lag, next_change_of_leader
from conformance.judging.log.registrations import Described, EpochRegistration, EpochRegistrations
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.settings import possible_min_isr, unclean_election
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import NEVER, FaultSpan

Moment = tuple[int, int]
"""A leader epoch, and the number of an event in it."""

EPOCH_BEGIN = -1
"""The placeholder for the beginning of an epoch, instead of an event."""
EPOCHS_OF_A_RESTART = 2
"""The number of epochs in a restart: the last ISR member is fenced, which leaves no leader, and is then elected again."""


ELECTIONS = frozenset(
    (
        excuses.ELECTED_UNCLEANLY_ON_REQUEST,
        excuses.ELECTED_UNCLEANLY_BY_FAULT,
        excuses.ELECTED_UNCLEANLY_BY_CONFIG,
        excuses.LAST_KNOWN_LEADER,
    )
)
"""Elections after which a former leader may be alone in its ISR and commit records that will be lost."""


class PermittedLoss(NamedTuple):
    """A permission to lose records from the offset `above` on that were committed before this moment.

    `above` is infinite for an election by which nothing may be lost. If `disks` is not 0, that many were lost, and the permission
    covers records for which acks=all waited for no more replicas than that.
    """

    at: Moment
    by: excuses.Evidence
    above: float = 0
    disks: int = 0


class PermittedLosses:
    """All permitted losses of one partition, in the order of their moments."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        self._damage = story.derive(ReplicaDamage)
        self._leadership = story.derive(Leadership)
        self._setting = story.derive(unclean_election)
        self.all = sorted({*self._elections(), *self._faults()}) if self._may_be_any else []

    @property
    def _may_be_any(self) -> bool:
        story = self.story
        leaderless = any(seen.leader < 0 and not seen.isr for seen in story.first_metadata)
        return leaderless or bool(story.unclean_elections or story.timeline.spans) or self._setting.ever_had("true")

    def between(
        self,
        first: Moment,
        second: Moment,
        among: frozenset[excuses.Evidence] | None = None,
        offset: float = inf,
    ) -> excuses.Evidence | None:
        """Return the permission to lose a record of the first moment by the second; None without one.

        A fault that cut a log permits no loss below the log end that it left. Without an `offset`, any record counts.
        """
        losses = (loss for loss in self.all if first < loss.at < second and loss.above <= offset and loss.above < inf)
        chosen = (loss for loss in losses if among is None or loss.by in among)
        return next((loss.by for loss in chosen if self._was_on_at_most(loss.disks, first, second)), None)

    def permission_to_elect(self, first: Moment, second: Moment) -> excuses.Evidence | None:
        """Return the permission to elect a replica that need not have all records; None without one."""
        return next((loss.by for loss in self.all if first < loss.at < second and loss.by in ELECTIONS), None)

    def _was_on_at_most(self, disks: int, first: Moment, second: Moment) -> bool:
        """True if acks=all waited for no more replicas than these, by the settings while the record was written.

        The moment of a write is that of its request. At any other moment the record was there already.
        """
        if not disks:
            return True
        asked = first[1]
        answered = self._answer_events.get(asked)
        since, until = (asked, answered) if answered is not None else (-1, asked + 1 if asked >= 0 else second[1])
        fewest = self.story.derive(Replicas).fewest_replicas(until, since)
        return disks >= min(*possible_min_isr(self.story, since, until), fewest)

    @cached_property
    def _answer_events(self) -> dict[int, int]:
        return {write.asked: write.event for write in self.story.produced}

    # --- elections

    def _elections(self) -> Iterator[PermittedLoss]:
        registrations = self.story.derive(EpochRegistrations)
        for election in self.story.unclean_elections:
            found = self._change_after(election.asked, excuses.ELECTED_UNCLEANLY_ON_REQUEST)
            yield from (loss for loss in found if not self._was_clean(election, loss))
        for span in self._damage.faults_with(lambda effects: effects.elects_uncleanly):
            if span.partition:  # one that names no partition is by an ElectLeaders in the history
                yield from self._change_after(span.began, excuses.ELECTED_UNCLEANLY_BY_FAULT, span.ended)
        for epoch, node in self._leadership.leaders.items():
            before = registrations.last_before(epoch)
            if before is None:
                continue
            if _is_last_known(self.story, epoch, node, before):
                yield _at_begin(epoch, excuses.LAST_KNOWN_LEADER, self._log_end_of_last_known(epoch, node))
            elif self._may_be_allowed(epoch, before) and not _may_lead(self.story, epoch, before):
                yield _at_begin(epoch, excuses.ELECTED_UNCLEANLY_BY_CONFIG)

    def _log_end_of_last_known(self, epoch: int, node: str) -> float:
        """Return the log end that faults left a last known leader; infinite without such faults, since its unclean shutdown alone
        loses none of its records. An epoch that no answer describes may have had another leader."""
        former = max(led for led in self._leadership.leaders if led < epoch)
        if not all(self._leadership.is_named(one) for one in range(former + 1, epoch)):
            return 0
        began = self._leadership.first_named(epoch)
        hits = self._damage.faults_with(lambda effects: effects.damages_log)
        mine = (
            span for span in hits if node in span.nodes and span.began < began <= self._damage.rejoins_at(node, span)
        )
        return min((self._log_end_left(node, span) for span in mine), default=inf)

    def _may_be_allowed(self, epoch: int, before: EpochRegistration) -> bool:
        return "true" in self._setting.possible_values(before.event, self._leadership.first_named(epoch))

    def _was_clean(self, election: UncleanElectionResult, loss: PermittedLoss) -> bool:
        """True if the request elected the former leader again, or a new one that was electable without a loss: as described
        since, if the outcome is unknown; or as described while there was no leader, when no ISR grows."""
        epoch, _ = loss.at
        before = self.story.derive(EpochRegistrations).last_before(epoch)
        if elected_former_leader(self.story, election, epoch):
            return True
        if before is None or not _may_lead(self.story, epoch, before):
            return False
        node, began = self._leadership.leaders[epoch], self._leadership.first_named(epoch)
        leaderless = before.leader < 0 and before.epoch == epoch - 1
        kept = leaderless and not started_uncleanly(self.story, node, before.event, began)
        return kept or (not election.granted and before.event > election.event)

    def _change_after(self, event: int, by: excuses.Evidence, end: int | None = None) -> Iterator[PermittedLoss]:
        """Yield the loss at the next election of another leader. The election of the same leader loses nothing."""
        changed = next_change_of_leader(self._leadership.leaders, self._leadership.newest_epoch_before(event))
        if changed is not None and (end is None or self._leadership.first_named(changed) < end):
            yield _at_begin(changed, by)

    # --- faults

    def _faults(self) -> Iterator[PermittedLoss]:
        yield from self._disks()
        for span in self._damage.faults_with(lambda effects: effects.loses_epochs):
            yield from self._losses_without_epochs(span)

    def _disks(self) -> Iterator[PermittedLoss]:
        hits = self._damage.faults_with(lambda effects: effects.damages_log)
        least = min(*possible_min_isr(self.story), self.story.derive(Replicas).fewest_replicas(NEVER)) if hits else 0
        for span in hits:
            standing = [one for one in hits if one.began <= span.began < one.ended]
            damaged = {node: one for one in standing for node in one.nodes if node in self._in_sync_since(standing)}
            latest = sorted(damaged.items(), key=lambda pair: pair[1].began, reverse=True)
            for disks in range(least, len(latest) + 1):
                yield from self._losses_of_all_members(latest[:disks])
            for node in span.nodes:
                yield from self._losses_of_damaged_leader(node, span)

    def _in_sync_since(self, standing: Sequence[FaultSpan]) -> frozenset[str]:
        """Return the nodes that any answer has in the ISR at one of these faults or between them."""
        registrations, names = self.story.derive(EpochRegistrations), self.story.timeline.names
        first, last = min(span.began for span in standing), max(span.began for span in standing)
        before = registrations.newest_at(first)
        if before is None:
            return frozenset(names.values())
        between = (seen for seen in registrations.described if first < seen.event < last)
        return frozenset(names.get(id, "") for seen in (before, *between) for id in seen.isr)

    def _losses_of_all_members(self, damaged: Sequence[tuple[str, FaultSpan]]) -> Iterator[PermittedLoss]:
        """Yield the losses of records that all of these ISR members lost.

        No other replica has them if acks=all waited for no more replicas, and the leader was one of them. Otherwise the leader
        has them, unless an undescribed successor was elected among them.
        """
        disks, event = len(damaged), min(span.began for _, span in damaged)
        above = max(self._log_end_left(node, span) for node, span in damaged)
        nodes, known = {node for node, _ in damaged}, self._leadership.newest_epoch_before(event)
        leader = self._leadership.leaders.get(known)
        if leader is None or leader in nodes:
            yield PermittedLoss(self._moment(event), excuses.DISKS_OF_MIN_ISR_LOST, above, disks)
        if leader not in nodes and (later := self._epoch_after_unseen_leader(event, known)) is not None:
            yield PermittedLoss((later, EPOCH_BEGIN), excuses.DISKS_OF_MIN_ISR_LOST, above, disks)

    def _epoch_after_unseen_leader(self, event: int, known: int) -> int | None:
        """Return the next epoch that was named, if the leader may have had a successor that was never described: it was cut off
        or frozen, or epochs passed while a fault was active on it.

        The successor was in sync and lost its records, which the former leader may still show: they are gone once it learns of
        the next epoch.
        """
        timeline, leader = self.story.timeline, self._leadership.leaders.get(known, "")
        away = timeline.cut_off(leader, event, event + 1) or timeline.down(leader, event, event + 1)
        later = min((epoch for epoch in self._leadership.leaders if epoch > known), default=None)
        return (
            later if later is not None and (away or self._may_have_unseen_leader(leader, event, known, later)) else None
        )

    def _may_have_unseen_leader(self, leader: str, event: int, known: int, later: int) -> bool:
        """True if epochs between two others were never described, while a fault was active on the leader of the first."""
        spans = self.story.timeline.active_faults(event, self._leadership.first_named(later))
        hit = any(leader in span.nodes and (span.effects.cut_off or span.effects.process != "runs") for span in spans)
        return hit and not all(self._leadership.is_named(one) for one in range(known + 1, later))

    def _losses_of_damaged_leader(self, node: str, span: FaultSpan) -> Iterator[PermittedLoss]:
        """Yield the losses of a node that lost records and leads: at the fault's epoch, or at its next epoch as leader."""
        epoch, _ = moment = self._moment(span.began)
        reads = (read for read in self._leadership.leader_reads if read.node == node and read.cur == epoch)
        if any(read.asked > span.began for read in reads):
            yield PermittedLoss(moment, excuses.DISK_LOST_BY_FAULT, self._log_end_left(node, span))
        led = min((later for later in self._leadership.epochs_of(node) if later > epoch), default=-1)
        before = self.story.derive(EpochRegistrations).last_before(led)
        id = self.story.timeline.ids.get(node, -1)
        if before is None or not before.may_elect(id) or self._has_rejoined(node, span.began, led):
            return
        if self._leadership.first_named(led) < span.ended or self._was_in_sync_and_down(node, before):
            yield _at_begin(led, excuses.DISK_LOST_BY_FAULT, self._log_end_left(node, span))
        elif self._was_alone_in_isr(node, span, led):
            yield PermittedLoss(moment, excuses.DISK_LOST_BY_FAULT, self._log_end_left(node, span))

    def _log_end_left(self, node: str, span: FaultSpan) -> int:
        """Return the log end that the fault left of this partition; 0 if it is unknown or everything was lost."""
        return span.left.get(node, 0) if span.partition == self.story.name else 0

    def _was_in_sync_and_down(self, node: str, before: EpochRegistration) -> bool:
        """True if the node was down, and in the ISR, when the last leader was lost: then its own election healed the fault."""
        down = self.story.timeline.down(node, before.event, before.event)
        return before.leader < 0 and self.story.timeline.ids.get(node, -1) in before.isr and down

    def _was_alone_in_isr(self, node: str, span: FaultSpan, led: int) -> bool:
        """True if the node's own last description before the fault shows it as leader and only ISR member, and no other replica
        became electable before it led again.

        Then it had no leader to fetch from, and its own election ended the fault. Records committed after the fault must survive.
        """
        id = self.story.timeline.ids.get(node, -1)
        described = self.story.derive(EpochRegistrations).described
        own = next((one for one in reversed(described) if one.node == node and one.event < span.began), None)
        if own is None or own.leader != id:
            return False
        since = [one for one in described if own.event <= one.event and own.epoch <= one.epoch < led]
        no_other_led = all(one.leader in (id, -1) for one in since)
        all_seen = led - max(one.epoch for one in since) <= EPOCHS_OF_A_RESTART
        last = {one.node: one for one in since if not self.story.timeline.cut_off(one.node, one.event, one.event)}
        alone = all({*one.isr} == {id} for one in (own, *last.values()))
        return no_other_led and all_seen and alone and self._elr_ended(own, led)

    def _elr_ended(self, own: Described, led: int) -> bool:
        """True if each replica in the ELR, as described with this ISR, restarted after an unclean shutdown before the epoch
        began.

        False if the ELR was described, but not with this ISR.
        """
        registered = self.story.registered
        shown = [one for one in registered if own.epoch <= one.epoch < led and {*one.isr} == {*own.isr}]
        if not shown:
            return not registered
        began = self._leadership.first_named(led)
        return _all_started_uncleanly(self.story, shown[-1].eligible, shown[-1].event, began)

    def _has_rejoined(self, node: str, event: int, epoch: int) -> bool:
        """True if the node left the ISR and rejoined it before it led at the epoch: then it had fetched its missing records."""
        id, out = self.story.timeline.ids.get(node, -1), False
        for seen in self.story.metadata:
            if seen.event > event and seen.epoch < epoch:
                if out and id in seen.isr:
                    return True
                out = out or id not in seen.isr
        return False

    def _losses_without_epochs(self, span: FaultSpan) -> Iterator[PermittedLoss]:
        """Yield the losses while the node leads, until the heal: followers may copy records that it failed to truncate.

        A replica without leader epochs truncates to its high watermark, so everything below that is kept.
        """
        leadership = self._leadership
        known = leadership.newest_epoch_before(span.began)
        later = sorted(one for one in leadership.leaders if one > known and leadership.first_named(one) < span.ended)
        led = next((n for n, epoch in enumerate(later) if leadership.leaders[epoch] in span.nodes), len(later))
        above = min((self._damage.checkpointed_high_watermark(node, span.began) for node in span.nodes), default=0)
        for epoch in later[led:]:
            yield _at_begin(epoch, excuses.EPOCH_FILE_LOST_BY_FAULT, above)

    def _moment(self, event: int) -> Moment:
        return self._leadership.newest_epoch_before(event), event


def elected_former_leader(story: PartitionStory, election: UncleanElectionResult, epoch: int) -> bool:
    """True if a granted request made the former leader lead again: a broker named it since for an epoch below this one, the first
    to be led by another, and no epoch before that may have had another leader."""
    leadership = story.derive(Leadership)
    known = leadership.newest_epoch_before(election.asked)
    since = [seen for seen in story.metadata if seen.asked > election.event and known < seen.epoch < epoch]
    again = min((seen.epoch for seen in since if seen.leader >= 0 and not may_lag(story, seen)), default=known)
    passed = (one for one in range(known + 1, again) if leadership.may_have_leader(one))
    return election.granted and again > known and all(one in leadership.leaders for one in passed)


def _at_begin(epoch: int, by: excuses.Evidence, above: float = 0) -> PermittedLoss:
    return PermittedLoss((epoch, EPOCH_BEGIN), by, above)


def _may_lead(story: PartitionStory, epoch: int, before: EpochRegistration) -> bool:
    """True if the leader of the epoch was electable without a loss, as described before.

    A controller removes a broker from the ELR when it registers after an unclean shutdown (KIP-966), which may be later than the
    description.
    """
    leadership = story.derive(Leadership)
    node = leadership.leaders[epoch]
    id = story.timeline.ids.get(node, -1)
    if id in before.isr:
        return True
    return before.may_elect(id) and not started_uncleanly(story, node, before.described, leadership.first_named(epoch))


def _is_last_known(story: PartitionStory, epoch: int, node: str, before: EpochRegistration) -> bool:
    """True if the node is the last known leader, elected with ISR and ELR empty, after an unclean shutdown (KIP-966)."""
    leadership = story.derive(Leadership)
    former = max((led for led in leadership.leaders if led < epoch), default=-1)
    if before.leader >= 0 or before.isr or leadership.leaders.get(former) != node:
        return False
    end = leadership.first_named(epoch)
    elr_ended = _all_started_uncleanly(story, before.eligible, before.described, end)
    return elr_ended and started_uncleanly(story, node, leadership.first_named(former), end)


def _all_started_uncleanly(story: PartitionStory, eligible: tuple[int, ...] | None, first: int, second: int) -> bool:
    """True if an unclean shutdown ended the eligibility of each of these replicas between two events."""
    nodes = (story.timeline.names.get(id, "") for id in eligible or ())
    return all(started_uncleanly(story, node, first, second) for node in nodes)


def started_uncleanly(story: PartitionStory, node: str, first: int, second: int) -> bool:
    """True if the node's process, restarted between two events, found no sign of a clean shutdown."""
    hits = (span for span in story.timeline.spans if node in span.nodes and span.effects.certainly_starts_uncleanly)
    return any(starts_between(span, first, second) for span in hits)


def starts_between(span: FaultSpan, first: int, second: int) -> bool:
    """True if a new process started, or may have started, between two events.

    A node that is down stays down until the fault is healed, and its end is seen later; one that restarts does so at once.
    """
    if span.effects.process == "restarts":
        return first < span.began < second
    return min(span.undone, span.ended) < second and first < span.ended
