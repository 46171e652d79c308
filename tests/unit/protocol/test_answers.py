"""Answers that are asked for one part of theirs."""

from __future__ import annotations

import pytest

from protocol.cluster import MetadataAnswer, PartitionMetadata, TopicMetadata
from protocol.codes import Error
from protocol.configs import Config, ConfigsAnswer, ResourceType
from protocol.errors import KitError
from protocol.groups import CommitResult, CommittedOffset, OffsetCommitAnswer, OffsetFetchAnswer
from protocol.transactions import ProducersOfPartition, ProducerState, TxnOffsetCommitAnswer, TxnOffsetResult


def metadata() -> MetadataAnswer:
    partition = PartitionMetadata(error=Error.NONE, partition=1, leader=2, replicas=(2, 3), isr=(2,))
    return MetadataAnswer(
        version=12, brokers=(), topics=(TopicMetadata(error=Error.NONE, name="t", partitions=(partition,)),)
    )


def test_metadata_has_a_topic_by_name_and_its_partitions_by_number() -> None:
    topic = metadata().topic("t")
    assert topic.partition(1).leader == 2
    with pytest.raises(KitError, match="t has no partition 0"):
        topic.partition(0)
    with pytest.raises(KitError, match="No topic 'other'"):
        metadata().topic("other")


def test_a_configuration_is_found_by_its_key() -> None:
    configs = (Config(name="a", value="1"), Config(name="b", value=None))
    answer = ConfigsAnswer(version=4, resource_type=ResourceType.TOPIC, error=Error.NONE, configs=configs)
    assert [answer.value(key) for key in ("a", "b", "c")] == ["1", None, None]


@pytest.mark.parametrize(
    ("errors", "all_fenced"),
    [
        ((), False),
        ((Error.FENCED_MEMBER_EPOCH,), True),
        ((Error.FENCED_MEMBER_EPOCH, Error.FENCED_MEMBER_EPOCH), True),
        ((Error.FENCED_MEMBER_EPOCH, Error.NONE), False),
        ((Error.NONE,), False),
    ],
)
def test_all_partitions_are_answered_with_an_error_if_there_is_one_and_none_has_another(
    errors: tuple[Error, ...], all_fenced: bool
) -> None:
    commits = [CommitResult(version=8, topic="t", partition=n, error=error) for n, error in enumerate(errors)]
    in_transaction = [TxnOffsetResult(version=3, topic="t", partition=n, error=error) for n, error in enumerate(errors)]
    answer = OffsetCommitAnswer(version=8, partitions=tuple(commits))
    assert answer.errors == errors
    assert answer.all_answered(Error.FENCED_MEMBER_EPOCH) is all_fenced
    other = TxnOffsetCommitAnswer(version=3, partitions=tuple(in_transaction))
    assert other.all_answered(Error.FENCED_MEMBER_EPOCH) is all_fenced


def committed(*offsets: int, error: Error = Error.NONE, group: Error = Error.NONE) -> OffsetFetchAnswer:
    found = [
        CommittedOffset(version=8, topic="t", partition=n, offset=offset, error=error)
        for n, offset in enumerate(offsets)
    ]
    return OffsetFetchAnswer(version=8, error=group, partitions=tuple(found))


@pytest.mark.parametrize(
    ("answer", "shows"),
    [
        (committed(3), True),
        (committed(4), False),
        (committed(-1), False),
        (committed(3, error=Error.UNSTABLE_OFFSET_COMMIT), False),
        (committed(3, group=Error.NOT_COORDINATOR), False),
        (committed(), False),
    ],
)
def test_an_offset_is_shown_if_nothing_was_wrong(answer: OffsetFetchAnswer, shows: bool) -> None:
    assert answer.shows(3) is shows


@pytest.mark.parametrize("answer", [committed(), committed(1, 2)])
def test_there_is_an_only_partition_if_there_is_one(answer: OffsetFetchAnswer) -> None:
    assert committed(3).only_partition.offset == 3
    with pytest.raises(KitError, match=f"the answer holds {len(answer.partitions)}"):
        _ = answer.only_partition


def test_a_producer_of_a_partition_is_found_by_its_id() -> None:
    one, other = (ProducerState(producer_id=id, producer_epoch=0) for id in (7, 8))
    answer = ProducersOfPartition(version=0, topic="t", partition=0, active_producers=(one, other))
    assert [answer.producer(id) for id in (7, 8, 9)] == [one, other, None]
