"""Elections that a voter of five wins or not, by the votes of the other four, which the kit plays (KIP-595, KIP-996)."""

from collections.abc import Callable, Collection

from hypothesis.strategies import booleans, permutations

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.quorum.frozen import candidate_epoch, grant_vote, refuse_vote
from conformance.rigs.quorum.live import ELECTION_TIMEOUT, LIVE_RIG_OF_FIVE, Live, LiveOfFive, is_pre_vote
from history.readings import Received
from protocol.words import say

ORDER = permutations(LiveOfFive.others)
"""The other voters; the first ones grant."""
ELECTIONS = 3
"""The elections in which the votes are too few."""
LONG = 30.0
"""The most seconds that these elections may take, with all waits between them."""


class CountedVotes:
    """The peers that vote for the voter in its present epoch, and those that grant pre-votes; all others refuse, or are
    silent. `granted` are the votes and pre-votes that reached it."""

    def __init__(self, live: Live, votes: Collection[int], pre_votes: Collection[int], *, refuse: bool) -> None:
        self.live = live
        self.votes, self.pre_votes, self.refuse = votes, pre_votes, refuse
        self.granted: list[Received] = []
        self.outdated: list[Received] = []

    def answer(self, asked: Received) -> None:
        if asked.api == "Vote":
            self.vote(asked)
        else:
            self.live.dismiss(asked)

    def vote(self, asked: Received) -> None:
        if asked.peer in (self.pre_votes if is_pre_vote(asked) else self.votes):
            self.granted += [asked] if grant_vote(self.live.peers, asked) else []
        elif self.refuse:
            refuse_vote(self.live.peers, asked)

    def vote_for_the_epoch_before(self, asked: Received) -> None:
        """Grant each Vote once as in an epoch that is one older, and only then by the rule."""
        known = [(one.peer, candidate_epoch(one)) for one in self.outdated]
        if asked.api != "Vote" or is_pre_vote(asked) or (asked.peer, candidate_epoch(asked)) in known:
            self.answer(asked)
        elif grant_vote(self.live.peers, asked, back=1):
            self.outdated.append(asked)

    def elections(self) -> int:
        """Return the number of epochs in which a vote reached the voter."""
        return len({candidate_epoch(one) for one in self.granted if not is_pre_vote(one)})

    def pre_votes_of(self, peer: int) -> int:
        """Return the number of pre-votes of a peer that reached the voter."""
        return sum(is_pre_vote(one) and one.peer == peer for one in self.granted)

    def wins(self) -> int:
        """Return the number of epochs in which votes of two peers surely reached the voter in time."""
        early = [candidate_epoch(one) for one in self.granted if not is_pre_vote(one) and self._is_early(one)]
        return sum(early.count(epoch) > 1 for epoch in set(early))

    def _is_early(self, asked: Received) -> bool:
        """True if the first Vote of an election came at most half an election timeout before this one."""
        epoch = candidate_epoch(asked)
        first = min(one.at for one in self.live.requests("Vote", epoch) if not is_pre_vote(one))
        return (asked.at - first) * 1000 < ELECTION_TIMEOUT / 2


def wins_none(live: Live, rule: Callable[[Received], None], enough: Callable[[], bool]) -> bool:
    """Answer by a rule until there were elections enough; return True if the voter never named itself leader."""
    led = list[bool]()

    def look() -> bool:
        led.append(live.leads())
        return led[-1] or enough()

    live.answer_while_waiting(look, rule, "elections with too few votes", LONG)
    return not any(led)


@probe("KIP595-VOTE-15", rig=LIVE_RIG_OF_FIVE, cases=["one-grant", "two-grants"], examples=2, order=ORDER,
       refuse=booleans())  # fmt: skip
def candidate_of_five_needs_two_other_votes(live: LiveOfFive, order: list[int], refuse: bool) -> Claims:
    """A candidate of five does not lead by the votes of one other voter in several epochs, and leads by those of two."""
    former = live.stand()
    ballot = CountedVotes(live, order[:1], order[:2], refuse=refuse)
    none_won = wins_none(live, ballot.answer, lambda: ballot.elections() >= ELECTIONS)
    enough = ballot.elections() >= ELECTIONS
    yield premise(enough or not none_won, f"{ELECTIONS} elections after epoch {former} with one vote")
    detail = f"{order[0]} alone voted for it in {ballot.elections()} epochs"
    yield held_if(none_won, case="one-grant", detail=detail)
    yield premise(none_won, "no leader by one vote")
    ballot.votes = order[:2]
    live.answer_while_waiting(
        lambda: live.leads() or ballot.wins() >= ELECTIONS, ballot.answer, f"{live.name} leads by two votes", LONG
    )
    leads, wins = live.leads(), ballot.wins()
    yield premise(leads or wins >= ELECTIONS, f"{ELECTIONS} elections with votes of {say(order[:2])}")
    yield held_if(leads, case="two-grants", detail=f"two votes reached it in {wins} elections")


@probe("KIP595-VOTE-15", rig=LIVE_RIG_OF_FIVE, cases=["older-epoch"], examples=2, order=ORDER, refuse=booleans())
def votes_of_an_older_epoch_do_not_count(live: LiveOfFive, order: list[int], refuse: bool) -> Claims:
    """A candidate of five does not lead by four votes that quote an older epoch, and one that quotes its own."""
    live.stand()
    ballot = CountedVotes(live, order[:1], order[:2], refuse=refuse)

    def elections() -> int:
        """Return the number of epochs for which a vote of the epoch before came from at least two peers."""
        epochs = [candidate_epoch(one) for one in ballot.outdated]
        return sum(epochs.count(one) > 1 for one in set(epochs))

    none_won = wins_none(live, ballot.vote_for_the_epoch_before, lambda: elections() >= ELECTIONS)
    yield premise(elections() >= ELECTIONS or not none_won, f"{ELECTIONS} elections with votes of an older epoch")
    yield held_if(none_won, detail=f"{len(ballot.outdated)} votes quoted the epoch before")


@probe("KIP595-VOTE-15", rig=LIVE_RIG_OF_FIVE, cases=["pre-votes"], examples=2, order=ORDER,
       refuse=booleans())  # fmt: skip
def prospective_voter_of_five_needs_two_pre_votes(live: LiveOfFive, order: list[int], refuse: bool) -> Claims:
    """A voter of five asks for no votes by the pre-votes of one other voter, given again and again, but by those of two."""
    epoch = live.stand()
    ballot = CountedVotes(live, (), order[:1], refuse=refuse)

    def asks_for_votes() -> bool:
        return any(one.api == "Vote" and not is_pre_vote(one) for one in live.heard)

    live.answer_while_waiting(
        lambda: asks_for_votes() or ballot.pre_votes_of(order[0]) >= ELECTIONS,
        ballot.answer,
        "pre-votes of one voter",
        LONG,
    )
    count = ballot.pre_votes_of(order[0])
    yield premise(count >= ELECTIONS or asks_for_votes(), f"{ELECTIONS} pre-votes of one voter")
    reported = live.reported_leader()
    stays = not asks_for_votes() and reported.leader_epoch == epoch
    detail = f"{order[0]} alone granted {count} pre-votes in epoch {epoch}; then it reports {say(reported)}"
    yield held_if(stays, detail=detail)
    yield premise(stays, "no Vote by one pre-vote")
    ballot.pre_votes = order[:2]
    live.answer_while_waiting(
        lambda: asks_for_votes() or ballot.pre_votes_of(order[1]) >= ELECTIONS,
        ballot.answer,
        f"a Vote of {live.name} by two pre-votes",
        LONG,
    )
    count = ballot.pre_votes_of(order[1])
    yield premise(asks_for_votes() or count >= ELECTIONS, f"{ELECTIONS} pre-votes of a second voter")
    raised = {candidate_epoch(one) for one in live.heard if one.api == "Vote" and not is_pre_vote(one)}
    detail = (
        f"a second voter granted {count} pre-votes; it asked for votes in {say(sorted(raised))} after epoch {epoch}"
    )
    yield held_if(raised == {epoch + 1}, detail=detail)
