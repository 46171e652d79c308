"""The ids that snapshots of a log would have, and the offset of an observer."""

from __future__ import annotations

import pytest

from conformance.kip595.replica_ids import is_observer, snapshot_id_at
from conformance.rigs.quorum.quorum import EpochStart
from protocol.log import EpochAndOffset, FetchedPartition
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica
from protocol.records import Batch
from tests.support.histories import stamped

LOG = [EpochStart(2, 0), EpochStart(7, 40), EpochStart(9, 50)]


def test_it_has_the_epoch_of_its_last_record() -> None:
    ids = [snapshot_id_at(LOG, offset) for offset in (0, 1, 40, 41, 50, 51)]
    assert ids == [EpochAndOffset(epoch, end) for epoch, end in [(2, 1), (2, 1), (2, 40), (7, 41), (7, 50), (9, 51)]]


def observed(at: int | None, voter: int = 101) -> QuorumAnswer:
    """Describe a quorum with this voter, and with an observer 7000 at an offset."""
    seen = () if at is None else (QuorumReplica(replica_id=7000, log_end_offset=at),)
    voters = (QuorumReplica(replica_id=voter, log_end_offset=60),)
    return QuorumAnswer(version=2, topic=METADATA_TOPIC, partition=0, current_voters=voters, observers=seen)


def served(*batches: Batch) -> FetchedPartition:
    return FetchedPartition(version=12, topic=METADATA_TOPIC, partition=0, batches=batches)


INSIDE = served(stamped(6, 54, "a", "b"), stamped(6, 56, "c"))
AT_ITS_BEGIN = served(stamped(6, 55, "b"))


@pytest.mark.parametrize("answer", [INSIDE, AT_ITS_BEGIN, served()])
def test_an_observer_is_where_it_fetched(answer: FetchedPartition) -> None:
    assert is_observer(observed(55), 7000, 55, answer)


def test_one_that_fetched_from_inside_a_batch_may_be_at_the_batchs_first_offset() -> None:
    assert is_observer(observed(54), 7000, 55, INSIDE)
    assert not is_observer(observed(54), 7000, 55, AT_ITS_BEGIN)
    assert not is_observer(observed(53), 7000, 55, INSIDE)
    assert not is_observer(observed(54), 7000, 56, INSIDE), "the batch before is not the one that was fetched from"


@pytest.mark.parametrize("described", [observed(None), observed(56), observed(55, voter=7000)])
def test_no_observer_a_wrong_offset_and_a_voter(described: QuorumAnswer) -> None:
    assert not is_observer(described, 7000, 55, INSIDE)
