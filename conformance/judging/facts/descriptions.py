"""Facts about things that nodes describe as a whole: groups, transactions, partitions, the quorum."""

from collections.abc import Iterator
from typing import TypeAlias

from conformance.judging.facts.exchange import NONE, Attributed, Decoding, Exchange, decodes
from history.subjects import METADATA_LOG
from protocol.cluster import DescribeTopicPartitions, PartitionMetadata, TopicPartitionsAnswer
from protocol.groups import ConsumerGroupDescribe, DescribedGroup
from protocol.quorum import DescribeQuorum, QuorumAnswer
from protocol.transactions import DescribedTransaction, DescribeTransaction

Described: TypeAlias = DescribedGroup | DescribedTransaction | PartitionMetadata | QuorumAnswer


class Description(Exchange, frozen=True, gc=False):
    """A node's view of a group (KIP-848), a transaction, the quorum or a partition (DescribeTopicPartitions)."""

    said: Described


@decodes(ConsumerGroupDescribe, about=["description"])
def _group(request: ConsumerGroupDescribe, answer: DescribedGroup, at: Decoding) -> Iterator[Attributed]:
    if answer.error == NONE:
        yield ("description", request.group, Description(*at.exchange(), answer))


@decodes(DescribeTransaction, about=["description"])
def _transaction(request: DescribeTransaction, answer: DescribedTransaction, at: Decoding) -> Iterator[Attributed]:
    if answer.error == NONE:
        yield ("description", request.transactional_id, Description(*at.exchange(), answer))


@decodes(DescribeQuorum, about=["description"])
def _quorum(request: DescribeQuorum, answer: QuorumAnswer, at: Decoding) -> Iterator[Attributed]:
    if answer.error == NONE:
        yield ("description", METADATA_LOG, Description(*at.exchange(), answer))


@decodes(DescribeTopicPartitions, about=["description"])
def _partitions(request: DescribeTopicPartitions, answer: TopicPartitionsAnswer, at: Decoding) -> Iterator[Attributed]:
    for topic in answer.topics:
        for one in topic.partitions:
            yield ("description", f"{topic.name}-{one.partition}", Description(*at.exchange(), one))
