"""A majority of the voters has what is below the high watermark of the metadata log (KIP595-HW-02)."""

from collections.abc import Iterator, Sequence

from conformance.judging.excuses import VOTER_LOG_LOST, VOTERS_CHANGED
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.laws.descriptions import DescriptionStory
from history.effects import LOG_LOSSES, Effects
from protocol.quorum import QuorumAnswer
from protocol.words import say


@story_judge("KIP595-HW-02", DescriptionStory, "described")
def majority_reaches_the_high_watermark(story: DescriptionStory) -> Iterator[Claim]:
    """In each description of the quorum the log ends of a majority of the voters are at or above the high watermark."""
    answers = [(one, one.said) for one in story.described if isinstance(one.said, QuorumAnswer)]
    epochs = [(one.event, answer.leader_epoch) for one, answer in answers]
    voters, changed, known = frozenset[int](), set[int](), set[QuorumAnswer]()
    for one, answer in answers:
        before, voters = voters, frozenset(voter.replica_id for voter in answer.current_voters)
        if before and voters != before:
            changed.add(answer.leader_epoch)
        if answer.high_watermark < 0 or answer in known:
            continue
        known.add(answer)
        if answer.leader_epoch in changed:
            yield Excuse(VOTERS_CHANGED, "majority")
        elif _lost_in(answer.leader_epoch, one.event, story, epochs):
            yield Excuse(VOTER_LOG_LOST, "majority")
        else:
            ends = sorted(voter.log_end_offset for voter in answer.current_voters)
            reached = sum(end >= answer.high_watermark for end in ends)
            shown = (
                f"{one.node}: the logs of the voters end at {say(ends)}, the high watermark is {answer.high_watermark}"
            )
            yield Finding(reached > len(ends) // 2, "majority", (one.event,), shown)


def _lost_in(epoch: int, event: int, story: DescriptionStory, epochs: Sequence[tuple[int, int]]) -> bool:
    """True if a fault before an event may have cost a voter records in this epoch: the first one described after the fault may
    have begun before it."""
    voters = story.timeline.controller_names
    began = [
        span.began
        for span in story.timeline.spans
        if span.began < event and _costs_records(span.effects) and not voters.isdisjoint(span.nodes)
    ]
    return any(epoch <= next(later for at, later in epochs if at > one) for one in began)


def _costs_records(effects: Effects) -> bool:
    """True for the loss of records of the metadata log, as of those of all partitions."""
    return "log-dir" in effects.disk or (effects.every_partition and not LOG_LOSSES.isdisjoint(effects.disk))
