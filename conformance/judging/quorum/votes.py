"""Votes: each node has one vote and one leader per epoch (INV-03, QS-04), and keeps its vote (VOTE-04)."""

from collections.abc import Iterable, Iterator

from conformance.judging.facts.exchange import Exchange, exchange_of
from conformance.judging.facts.quorum import VoteResult
from conformance.judging.judge import Claim, Finding, story_judge
from conformance.judging.quorum.leaders import STORED, judge_same_leader, leaders_by_controller
from conformance.judging.quorum.story import QuorumStory, by_node, excuses, in_real_time


class Ballot(Exchange, frozen=True, gc=False):
    """A vote of a node in an epoch, from its answer or its quorum-state."""

    source: str
    epoch: int
    voted: int

    def __str__(self) -> str:
        return f"{self.node} voted for {self.voted} in epoch {self.epoch} ({self.source})"


def votes_given(story: QuorumStory) -> list[Ballot]:
    """Return the votes of all nodes. A pre-vote does not count."""
    stored = [Ballot(*exchange_of(one), STORED, one.epoch, one.voted) for one in story.states if one.voted >= 0]
    granted = [one for one in story.votes if one.granted and not one.pre_vote]
    return [*stored, *(Ballot(*exchange_of(one), "vote", one.epoch, one.candidate) for one in granted)]


def _same_vote(cast: Iterable[Ballot], case: str) -> Iterator[Finding]:
    """Yield a finding each time another process or another source shows a node's vote in an epoch."""
    first: dict[int, Ballot] = {}
    shown: set[tuple[object, ...]] = set()
    for one in cast:
        other = first.setdefault(one.epoch, one)
        what = (one.incarnation, one.source, one.epoch, one.voted)
        if other is not one and what not in shown:
            shown.add(what)
            yield Finding(one.voted == other.voted, case, (other.event, one.event), f"{other}; {one}", "two-votes")


@story_judge("KIP595-INV-03", QuorumStory, "known", "votes", "states")
def one_vote_and_one_leader(story: QuorumStory) -> Iterator[Claim]:
    """No node votes for two candidates in an epoch, or names two leaders of it."""
    yield from excuses(story, story.derive(votes_given), "vote", alone=True)
    yield from excuses(story, story.known, "leader", alone=True)
    for cast in by_node(story.judgeable_facts(story.derive(votes_given))).values():
        yield from _same_vote(cast, "vote")
    for known in leaders_by_controller(story):
        yield from judge_same_leader(known, "leader")


@story_judge("KIP595-QS-04", QuorumStory, "states")
def stored_vote_and_leader_stay(story: QuorumStory) -> Iterator[Claim]:
    """No quorum-state has another leader or vote for an epoch than it had before."""
    case = "leader-and-vote"
    yield from excuses(story, story.states, case, alone=True)
    stored = [one for one in story.judgeable_facts(story.derive(votes_given)) if one.source == STORED]
    for cast in by_node(stored).values():
        yield from _same_vote(cast, case)
    for known in leaders_by_controller(story):
        yield from judge_same_leader((one for one in known if one.source == STORED), case)


@story_judge("KIP595-VOTE-04", QuorumStory, "votes")
def votes_are_kept(story: QuorumStory) -> Iterator[Claim]:
    """A node that granted its vote in an epoch refuses other candidates, and grants the vote again to the same one."""
    case = "every-vote"
    yield from excuses(story, story.votes, case, alone=True)
    for votes in by_node(story.judgeable_facts([one for one in story.votes if not one.pre_vote])).values():
        granted: dict[int, VoteResult] = {}
        for one, earlier in in_real_time(votes):
            for other in earlier:
                if other.granted:
                    granted.setdefault(other.epoch, other)
            first = granted.get(one.epoch)
            if first is not None and (held := _is_kept(first, one)) is not None:
                yield Finding(held, case, (first.event, one.event), _kept_in_words(first, one), "vote-not-kept")


def _is_kept(first: VoteResult, one: VoteResult) -> bool | None:
    """Return whether a vote was kept. None if the same candidate need not get it again: its log is older, or there is a leader or
    a later epoch."""
    if one.candidate != first.candidate:
        return not one.granted
    free = one.known.leader_id < 0 and one.known.leader_epoch == one.epoch and one.last >= first.last
    return one.granted if free else None


def _kept_in_words(first: VoteResult, one: VoteResult) -> str:
    answer = "granted" if one.granted else "refused"
    return f"{one.node} granted its vote of epoch {one.epoch} to {first.candidate}, and then {answer} it to {one.candidate}"
