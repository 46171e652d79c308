"""Requests about a transactional id, from the facts of each API."""

from __future__ import annotations

from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.requests import AnsweredRequest, AnswerKind, requests
from conformance.judging.producers.story import TransactionStory
from protocol.codes import Error
from tests.support.histories import TOPIC
from tests.support.producers import ID, TID, TV2, ProducerHistory, stories

TOPIC_0 = f"{TOPIC.name}-0"


def asked(history: ProducerHistory) -> list[AnsweredRequest]:
    together = stories(history)
    [story] = together.stories_of(TransactionStory)
    return requests(story, [*together.stories_of(PartitionStory)])


def test_each_api_gives_a_request_in_the_order_of_the_calls() -> None:
    history = ProducerHistory().given().adds().adds_offsets().writes("a", at=0, tid=TID).commits(3)
    found = asked(history.ends(True, version=TV2, then=(ID, 1)))
    assert [one.request.api for one in found] == [
        "InitProducerId",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "Produce",
        "TxnOffsetCommit",
        "EndTxn",
    ]
    assert [one.request.version for one in found] == [5, 3, 4, 11, 4, TV2]
    assert [sorted(one.request.names) for one in found[1:5]] == [[TOPIC_0], ["group g"], [TOPIC_0], ["group g"]]
    assert [one.key for one in found] == [*range(6)]
    assert (found[5].given_id, found[5].given_epoch, found[5].request.commits) == (ID, 1, True)
    assert found[3].write is not None


def test_an_answer_may_be_missing() -> None:
    [_, lost] = asked(ProducerHistory().given().ends(True, version=TV2, lost=True))
    assert (lost.reply, lost.request.version) == (AnswerKind.UNKNOWN, TV2), "the call names the version"
    [_, refused] = asked(ProducerHistory().given().adds(error=Error.NOT_COORDINATOR))
    assert (refused.reply, refused.error) == (AnswerKind.ANSWERED, Error.NOT_COORDINATOR)


def test_writes_of_other_producers_are_not_its_own() -> None:
    assert len(asked(ProducerHistory().given().writes("a", at=0, id=9))) == 1
