"""Leaders and epochs: each epoch has one leader (INV-01), epochs never decrease (INV-02, QS-04), answers are true (API-06)."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from conformance.judging.facts.exchange import by_asked, by_event
from conformance.judging.facts.quorum import KnownLeader, Source
from conformance.judging.judge import Claim, Finding, story_judge
from conformance.judging.quorum.story import QuorumStory, by_node, excuses, in_real_time

STORED = "quorum-state"


@story_judge("KIP595-INV-01", QuorumStory, "known")
def one_leader_in_each_epoch(story: QuorumStory) -> Iterator[Claim]:
    """All nodes that name a leader of an epoch name the same one. In a scripted quorum each node is judged alone."""
    yield from excuses(story, story.known, "answers", alone=story.is_scripted)
    alone = by_node(story.judgeable_facts(story.known)).values()
    for known in alone if story.is_scripted else [story.comparable_facts(story.known)]:
        yield from judge_same_leader(known, "answers")


def judge_same_leader(known: Iterable[KnownLeader], case: str) -> Iterator[Finding]:
    """Yield a finding each time another process or another kind of answer names the leader of an epoch."""
    first: dict[int, KnownLeader] = {}
    shown: set[tuple[object, ...]] = set()
    for one in known:
        if one.leader < 0:
            continue
        other = first.setdefault(one.epoch, one)
        what = (one.node, one.incarnation, one.source, one.epoch, one.leader)
        if other is not one and what not in shown:
            shown.add(what)
            yield Finding(one.leader == other.leader, case, (other.event, one.event), f"{other}; {one}", "two-leaders")


@story_judge("KIP595-INV-02", QuorumStory, "known")
def epochs_of_a_node_never_decrease(story: QuorumStory) -> Iterator[Claim]:
    """No controller names an older epoch, or has one in its quorum-state, than it did before, even after a restart."""
    for case, is_stored in (("answers", False), (STORED, True)):
        mine = [one for one in story.known if (one.source == STORED) is is_stored]
        yield from excuses(story, mine, case, alone=True)
    for known in leaders_by_controller(story):
        yield from _no_lower_epoch(known)


def leaders_by_controller(story: QuorumStory) -> Iterator[list[KnownLeader]]:
    """Yield the leaders that each controller named."""
    known = by_node(story.judgeable_facts(story.known))
    yield from (facts for node, facts in known.items() if node in story.timeline.controller_names)


def _no_lower_epoch(known: Sequence[KnownLeader]) -> Iterator[Finding]:
    shown: set[tuple[object, ...]] = set()
    for highest, one in _after_the_highest(known):
        held = one.epoch >= highest.epoch
        what = (one.incarnation, one.source, one.epoch, held)
        if what not in shown:
            shown.add(what)
            case = STORED if one.source == STORED else "answers"
            yield Finding(held, case, (highest.event, one.event), f"{highest}; later {one}", "epoch-fell")


def _after_the_highest(known: Sequence[KnownLeader]) -> Iterator[tuple[KnownLeader, KnownLeader]]:
    """Yield each later answer of a node together with its highest epoch before."""
    highest: KnownLeader | None = None
    for one, earlier in in_real_time(known):
        highest = max([*([highest] if highest else []), *earlier], key=lambda fact: fact.epoch, default=None)
        if highest is not None:
            yield highest, one


@story_judge("KIP595-QS-04", QuorumStory, "known")
def epoch_survives_restarts(story: QuorumStory) -> Iterator[Claim]:
    """No process of a controller names an older epoch than an earlier process of it did."""
    yield from excuses(story, story.known, "epoch", alone=True)
    for known in leaders_by_controller(story):
        shown: set[tuple[object, ...]] = set()
        for highest, one in _after_the_highest(known):
            held = one.epoch >= highest.epoch
            what = (one.incarnation, one.source, held)
            if one.incarnation > highest.incarnation and what not in shown:
                shown.add(what)
                detail = f"{highest}; after a restart {one}"
                yield Finding(held, "epoch", (highest.event, one.event), detail, "epoch-fell")


ANSWERS: frozenset[Source] = frozenset(("vote", "begin", "end", "fetch", "fetch-error"))
"""The kinds of answers that contain the receiver's leader and epoch."""


@story_judge("KIP595-API-06", QuorumStory, "known")
def answers_name_the_leader_in_between(story: QuorumStory) -> Iterator[Claim]:
    """If two answers of one process name the same leader and epoch, so does every answer in between."""
    case = "every-answer"
    yield from excuses(story, story.known, case, alone=True)
    for known in leaders_by_controller(story):
        answers = [one for one in known if one.source in ANSWERS]
        shown: set[tuple[object, ...]] = set()
        for before, one, after in _in_between(answers):
            held, wrong = _named(one) == _named(before), f"{before}; in between {one}; {after}"
            what = (one.incarnation, one.source, one.leader, one.epoch, held)
            if _named(before) == _named(after) and what not in shown:
                shown.add(what)
                yield Finding(held, case, (before.event, one.event, after.event), wrong, "untrue-leader")


def _named(one: KnownLeader) -> tuple[int, int, int]:
    return one.incarnation, one.leader, one.epoch


def _in_between(answers: Sequence[KnownLeader]) -> Iterator[tuple[KnownLeader, KnownLeader, KnownLeader]]:
    """Yield each answer with the last answer before its request, and the first answer to a later request."""
    ended, begun = sorted(answers, key=by_event), sorted(answers, key=by_asked)
    for one in begun:
        before, after = bisect_left(ended, one.asked, key=by_event), bisect_left(begun, one.event, key=by_asked)
        if before > 0 and after < len(begun):
            yield ended[before - 1], one, begun[after]
