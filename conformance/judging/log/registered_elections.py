"""Elections in the metadata log, which records every election even if no broker described it (GEN-09)."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.judging import excuses
from conformance.judging.facts.log import RegisteredStates, UncleanElectionResult
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.elections import election_case
from conformance.judging.log.leadership import Leadership, may_lag, next_change_of_leader
from conformance.judging.log.permitted_losses import elected_former_leader, starts_between
from conformance.judging.log.settings import unclean_election
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.timeline import CONVERGENCE_TIMEOUT
from history.readings import PartitionRegistration
from protocol.words import say


@log_judge("GEN-09", "registered_states")
def only_electable_replicas_are_registered(story: PartitionStory) -> Iterator[Claim]:
    """The leader of a record is in the ISR or ELR of the previous record, or is the last known leader once both are empty, which
    may be by the same record.

    A record that also changes the replicas completes a reassignment: a replica that it adds to the ISR may lead at once.
    """
    for log in story.registered_states[-1:]:
        for before, after in pairwise(log.states):
            if before.leader != after.leader >= 0 and before.replicas == after.replicas:
                yield from _judge(story, log, before, after)


def _judge(
    story: PartitionStory, log: RegisteredStates, before: PartitionRegistration, after: PartitionRegistration
) -> Iterator[Claim]:
    """Judge one election. It counts only if a replica that may not lead was alive."""
    electable = frozenset((*before.isr, *before.eligible))
    # Records of the log have no event numbers: the epoch had begun by the event that first named it or a newer one.
    by = next((seen.event for seen in story.first_metadata if seen.epoch >= after.epoch), log.event)
    case = election_case(story, electable, by)
    others_alive = ({*after.replicas} & {*after.unfenced}) - electable
    if after.leader in (electable or before.last_known):
        if others_alive:
            yield Finding(True, case, (log.event,))
    elif (permission := _permission(story, log, after.epoch, by)) is not None:
        yield Excuse(permission, case)
    elif _ends_eligibility(story, before, after, by):
        yield Excuse(excuses.LAST_KNOWN_LEADER, case)
    else:
        yield Finding(False, case, (by, log.event), _election_in_words(before, after), "unclean-leader")


def _permission(story: PartitionStory, log: RegisteredStates, epoch: int, known: int) -> excuses.Evidence | None:
    """Return the evidence that the election was requested or permitted shortly before an answer showed it; None without any."""
    since = _event_before(story, epoch, known)
    if any(
        _requests(story, log, one, epoch) for one in story.unclean_elections if one.event > since or not one.granted
    ):
        return excuses.ELECTED_UNCLEANLY_ON_REQUEST
    faults = story.derive(ReplicaDamage).faults_with(lambda effects: effects.elects_uncleanly)
    if any(span.began < known and since < span.ended for span in faults):
        return excuses.ELECTED_UNCLEANLY_BY_FAULT
    if "true" in story.derive(unclean_election).possible_values(since, known):
        return excuses.ELECTED_UNCLEANLY_BY_CONFIG
    return None


def _ends_eligibility(
    story: PartitionStory, before: PartitionRegistration, after: PartitionRegistration, known: int
) -> bool:
    """True if the record empties the ELR and elects the last known leader, as a controller does when the last eligible replica
    registers after an unclean shutdown (KIP-966): each replica that it takes from the ELR may have had one."""
    if before.isr or after.eligible or after.leader not in before.last_known:
        return False
    since = _event_before(story, after.epoch, known)
    gone = [story.timeline.names.get(id, "") for id in before.eligible]
    return all(_may_start_uncleanly(story, node, since, known) for node in gone)


def _may_start_uncleanly(story: PartitionStory, node: str, since: int, known: int) -> bool:
    """True if a fault may have ended the node's process without a controlled shutdown, and it may have started between two
    events."""
    brokers = story.timeline.broker_names
    hits = (span for span in story.timeline.active_faults(since, known) if span.concerns((node,), brokers))
    starts = (span.effects for span in hits if starts_between(span, since, known))
    return any(one.begins_incarnation and not one.certainly_shuts_down for one in starts)


def _requests(story: PartitionStory, log: RegisteredStates, election: UncleanElectionResult, epoch: int) -> bool:
    """True if the epoch began with the first change of leader after the request; the request permits no later change."""
    leaders = {state.epoch: state.leader for state in log.states if state.leader >= 0}
    changed = next_change_of_leader(leaders, story.derive(Leadership).newest_epoch_before(election.asked))
    return changed == epoch and not elected_former_leader(story, election, epoch)


def _event_before(story: PartitionStory, epoch: int, known: int) -> int:
    """Return an event before the epoch began: the last answer that named a lower epoch, minus the time by which a broker may lag.

    No broker lags behind the first answer about the partition.
    """
    lower = (seen for seen in reversed(story.metadata) if seen.event < known and seen.epoch < epoch)
    last = next((seen.event for seen in lower if not may_lag(story, seen)), None)
    return -1 if last is None else max(story.timeline.earlier(last, CONVERGENCE_TIMEOUT), story.first_metadata[0].event)


def _election_in_words(before: PartitionRegistration, after: PartitionRegistration) -> str:
    known = f"ISR {say(before.isr)}, ELR {say(before.eligible)}, last known leader {say(before.last_known)}"
    return (
        f"the metadata log has leader {after.leader} at epoch {after.epoch}; before, at epoch {before.epoch}: {known}"
    )
