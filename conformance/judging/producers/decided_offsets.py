"""Offsets that members of groups commit in transactions: once these are committed, they are readable (KIP1251-INV-11)."""

from collections.abc import Iterator

from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.groups import FetchedOffset, OffsetCommitResult
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge
from conformance.judging.log.committed_offsets import why_older
from conformance.judging.log.refused_commits import is_refused
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.records import ALL
from conformance.judging.producers.transactions import Producers
from conformance.judging.together import Together


@joint_judge("KIP1251-INV-11", *ALL)
def offsets_of_committed_transactions_are_readable(together: Together) -> Iterator[Claim]:
    """After EndTxn has committed a transaction, a stable OffsetFetch shows an offset that a member committed in it, or one that
    may have been committed later."""
    stories = {story.name: story for story in together.stories_of(PartitionStory)}
    for transaction in together.derive(Producers).transactions:
        ended = transaction.ended
        for one in transaction.offsets if ended is not None and ended.committed else ():
            story = stories.get(f"{one.topic}-{one.partition}")
            if ended is not None and story is not None and one.member_id and one.accepted == NONE:
                yield from _judge_decided(story, one, ended.event)


def _judge_decided(story: PartitionStory, commit: OffsetCommitResult, decided: int) -> Iterator[Claim]:
    """Yield a finding about the first stable fetch after the decision, or about the one that shows neither."""
    legal = [commit, *(one for one in story.commits if _may_come_after(one, commit))]
    later = [one for one in story.committed if one.group == commit.group and one.stable and one.asked > decided]
    later = [one for one in later if not story.timeline.may_be_deleted((commit.topic, commit.topic_key), one.event)]
    wrong = next((one for one in later if not _is_among(one, legal)), None)
    for shown in [wrong] if wrong is not None else later[:1]:
        case = "accepted" if shown.node == commit.node else "fail-over"
        detail = (
            f"{shown.node} shows offset {shown.offset} of {story.name}, after a transaction committed offset {commit.offset} of "
            f"{commit.member_id}"
        )
        excuse = None if wrong is None else why_older(story, commit, shown)
        by = (commit.event, decided, shown.event)
        yield Excuse(excuse, case) if excuse else Finding(wrong is None, case, by, detail, "lost-offset")


def _may_come_after(one: OffsetCommitResult, commit: OffsetCommitResult) -> bool:
    """True if an offset may be written after another one of its group, whenever its transaction is decided."""
    return one.group == commit.group and not is_refused(one) and (one.accepted != NONE or one.event > commit.asked)


def _is_among(shown: FetchedOffset, commits: list[OffsetCommitResult]) -> bool:
    return any(one.asked < shown.event and (one.offset, one.epoch) == (shown.offset, shown.epoch) for one in commits)
