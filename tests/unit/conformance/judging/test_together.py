"""Joint judges: stories of several types at once, judged again whenever one of them has grown."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judging.judge import Finding, Judging, joint_judge
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.story import TransactionStory
from conformance.judging.together import Together
from tests.support.producers import TID, ProducerHistory

SEEN: list[tuple[int, int]] = []


@joint_judge("KIP360-INV-06", TransactionStory, PartitionStory)
def counts(together: Together) -> Iterator[Finding]:
    ends = sum(len(story.ends) for story in together.stories_of(TransactionStory))
    writes = sum(len(story.produced) for story in together.stories_of(PartitionStory))
    SEEN.append((ends, writes))
    yield Finding(ends <= writes, "tv2", (0,), f"{ends} ends, {writes} writes")


def test_a_joint_judge_sees_the_stories_of_all_its_types_as_they_grow() -> None:
    SEEN.clear()
    history = ProducerHistory().given()
    judging = Judging([counts], history.history.example)
    judging.follow(history.events)
    assert [one.result for one in judging.results().observations] == ["held"]
    history.ends(True)
    judging.follow(history.events)
    assert [one.detail.partition(".")[0] for one in judging.violations()] == ["1 ends, 0 writes"]
    history.writes("a", at=0, tid=TID)
    judging.follow(history.events)
    assert judging.violations() == []
    assert SEEN == [(0, 0), (1, 0), (1, 1)]


def test_it_is_not_judged_again_where_nothing_has_grown() -> None:
    SEEN.clear()
    history = ProducerHistory().given()
    judging = Judging([counts], history.history.example)
    judging.follow(history.events)
    for _ in range(3):
        judging.results()
    assert SEEN == [(0, 0)]


def test_judges_of_the_same_types_share_one_look() -> None:
    other = joint_judge("KIP360-INV-07", TransactionStory, PartitionStory)(lambda together: iter(()))
    history = ProducerHistory().given()
    judging = Judging([counts, other], history.history.example)
    judging.follow(history.events)
    assert [one.requirement for one in judging.results().observations] == ["KIP360-INV-06"]
