"""Voters and observers: brokers never vote or lead (INV-15, OBS-01), and the leader describes all voters (DQ-01)."""

from collections.abc import Iterator

from conformance.judging.facts.quorum import QuorumDescription
from conformance.judging.judge import Claim, Finding, story_judge
from conformance.judging.quorum.story import QuorumStory, excuses
from protocol.quorum import QuorumAnswer
from protocol.words import say


def _observers(story: QuorumStory) -> frozenset[int]:
    """Return the ids of the nodes that are not controllers."""
    timeline = story.timeline
    return frozenset(id for id, name in timeline.names.items() if name not in timeline.controller_names)


def _no_observer_votes(story: QuorumStory, case: str) -> Iterator[Finding]:
    """Yield a finding for each description with different voters."""
    shown: set[tuple[object, ...]] = set()
    for one in story.comparable_facts(story.described) if _observers(story) else ():
        voters = _voters(one.said)
        if (one.node, one.incarnation, one.said.leader_epoch, voters) not in shown:
            shown.add((one.node, one.incarnation, one.said.leader_epoch, voters))
            wrong = f"{one.node} described {say(sorted(voters & _observers(story)))} as voters, which are brokers only"
            yield Finding(voters.isdisjoint(_observers(story)), case, (one.event,), wrong, "observer-votes")


def _voters(said: QuorumAnswer) -> frozenset[int]:
    return frozenset([one.replica_id for one in said.current_voters])


def _no_vote_for_observers(story: QuorumStory, case: str) -> Iterator[Finding]:
    """Yield a finding for each vote in a quorum-state."""
    shown: set[tuple[object, ...]] = set()
    for one in story.judgeable_facts(story.states) if _observers(story) else ():
        what = (one.node, one.incarnation, one.epoch, one.voted)
        if one.voted >= 0 and what not in shown:
            shown.add(what)
            wrong = f"{one.node} has voted for {one.voted}, which is a broker only"
            yield Finding(one.voted not in _observers(story), case, (one.event,), wrong, "observer-votes")


@story_judge("KIP595-OBS-01", QuorumStory, "described", "states", "peer_requests")
def brokers_only_observe(story: QuorumStory) -> Iterator[Claim]:
    """No broker is described as a voter, gets a vote, or asks for one."""
    yield from excuses(story, story.described, "describe-quorum")
    yield from excuses(story, [*story.states, *story.peer_requests], "vote", alone=True)
    yield from _no_observer_votes(story, "describe-quorum")
    yield from _no_vote_for_observers(story, "vote")
    for one in story.judgeable_facts(story.peer_requests) if _observers(story) else ():
        if one.candidate >= 0:
            wrong = f"{one.candidate}, which is a broker only, asked for a vote"
            yield Finding(one.candidate not in _observers(story), "vote", (one.event,), wrong, "observer-votes")


@story_judge("KIP595-INV-15", QuorumStory, "described", "states")
def observers_take_no_part(story: QuorumStory) -> Iterator[Claim]:
    """No broker is described as a voter or has a vote, in any history in which the kit plays no voter."""
    yield from excuses(story, [*story.described, *story.states], "answers")
    if not story.is_scripted:
        yield from _no_observer_votes(story, "answers")
        yield from _no_vote_for_observers(story, "answers")


# --- the leader's description


@story_judge("KIP595-DQ-01", QuorumStory, "described")
def leader_describes_itself_among_the_voters(story: QuorumStory) -> Iterator[Claim]:
    """A description names the answering controller as leader, and all voters; no log end or high watermark exceeds the
    leader's."""
    case = "every-description"
    yield from excuses(story, story.described, case)
    shown: set[tuple[object, ...]] = set()
    for one in story.comparable_facts(story.described):
        ends = tuple((voter.replica_id, voter.log_end_offset) for voter in one.said.current_voters)
        what = (one.node, one.incarnation, one.said.leader_id, one.said.leader_epoch, one.said.high_watermark, ends)
        if what not in shown:
            shown.add(what)
            wrong = _incomplete(one, story)
            yield Finding(not wrong, case, (one.event,), wrong, "incomplete-description")


def _incomplete(one: QuorumDescription, story: QuorumStory) -> str:
    """Return the error in a description of the quorum, as text; empty without one."""
    said, timeline = one.said, story.timeline
    ends = {voter.replica_id: voter.log_end_offset for voter in said.current_voters}
    controllers = {timeline.ids[name] for name in timeline.controller_names}
    own = ends.get(said.leader_id, -1)
    if one.node in timeline.controller_names and said.leader_id != timeline.ids[one.node]:
        return f"{one.node} answered for leader {said.leader_id}"
    if not controllers <= ends.keys():  # the kit may play further voters
        return f"{one.node} described the voters {say(sorted(ends))}, without {say(sorted(controllers - ends.keys()))}"
    if own < max(*ends.values(), said.high_watermark):
        shown = f"log ends {say(sorted(ends.values()))} and the high watermark {said.high_watermark}"
        return f"{one.node} described {shown}, above the leader's log end {own}"
    return ""
