"""Fetch: fencing by the current leader epoch of the request (KIP-320)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.log.epoch_requests import (
    FENCED_FROM,
    FOLLOWERS_SERVE_FROM,
    LARGEST_EPOCH,
    same_leader_and_epoch,
    sender_for,
)
from conformance.rigs.log.partition import Partition, partition_at_epoch
from conformance.rigs.log.replica_log import reads_nothing, replica_log, serves_log
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import FetchedPartition, FetchOptions, LeaderAndEpoch
from protocol.since import since
from strategies.inputs import EPOCHS_AHEAD, EPOCHS_BACK

HINTS_FROM = since("FetchResponse", "NodeEndpoints")


@probe("KIP320-FETCH-01", rig=partition_at_epoch(3), offset=integers(0, 11), back=BACK)
def equal_epoch_is_served(partition: Partition, case: str, offset: int, back: int) -> Claims:
    """A fetch with the broker's own epoch gets records, high watermark and log start."""
    node, replica_id, state = sender_for(partition, case)
    log = replica_log(partition, node)
    low = FOLLOWERS_SERVE_FROM if case == "follower" else FENCED_FROM
    answer = node.fetch(
        partition.fetch_from(offset, current_leader_epoch=state.leader_epoch),
        FetchOptions(replica_id=replica_id),
        version=choose_version(partition.bench, "Fetch", back, low=low),
    )
    yield same_leader_and_epoch(partition, state)
    whole = serves_log(answer, log, offset)
    yield held_if(whole and answer.high_watermark == log.end and answer.log_start_offset == log.start, answer)


@probe("KIP320-FETCH-02", rig=partition_at_epoch(3), epochs_back=EPOCHS_BACK, back=BACK)
def older_epoch_is_fenced(partition: Partition, case: str, epochs_back: int, back: int) -> Claims:
    """A fetch with an older epoch is refused without records, and a consumer gets the current leader."""
    node, replica_id, state = sender_for(partition, case)
    hinted = case in ("hint", "no-endpoints")
    answer = node.fetch(
        partition.fetch_from(0, current_leader_epoch=state.leader_epoch - epochs_back),
        FetchOptions(replica_id=replica_id),
        version=choose_version(partition.bench, "Fetch", back, low=HINTS_FROM if hinted else FENCED_FROM),
    )
    named = case != "hint" or names_leader(partition, node, answer, state)
    silent = case != "no-endpoints" or not answer.node_endpoints
    yield same_leader_and_epoch(partition, state)
    refused = answer.error is Error.FENCED_LEADER_EPOCH and reads_nothing(answer)
    yield held_if(refused and named and silent, answer)


def names_leader(partition: Partition, node: NodeClient, answer: FetchedPartition, state: PartitionMetadata) -> bool:
    """True if the hint (KIP-951) has the leader, epoch and address that Metadata has on the same listener."""
    brokers = node.metadata([partition.name]).brokers
    [address] = [(broker.host, broker.port) for broker in brokers if broker.node_id == state.leader]
    endpoints = [(e.host, e.port) for e in answer.node_endpoints if e.node_id == state.leader]
    return answer.current_leader == LeaderAndEpoch(state.leader, state.leader_epoch) and endpoints == [address]


@probe("KIP320-FETCH-03", rig=partition_at_epoch(3), epochs_ahead=EPOCHS_AHEAD, back=BACK)
def newer_epoch_is_unknown(partition: Partition, case: str, epochs_ahead: int, back: int) -> Claims:
    """A fetch with a newer epoch is refused without records or leader, and the broker's own epoch is unchanged."""
    node, replica_id, state = sender_for(partition, case)
    version = choose_version(partition.bench, "Fetch", back, low=FENCED_FROM)
    newer = LARGEST_EPOCH if case == "largest" else state.leader_epoch + epochs_ahead
    answer = node.fetch(
        partition.fetch_from(0, current_leader_epoch=newer), FetchOptions(replica_id=replica_id), version=version
    )
    # Epochs are compared before leadership, so even at a follower the broker's own epoch is not "unknown".
    own = node.fetch(partition.fetch_from(0, current_leader_epoch=state.leader_epoch), version=version)
    yield same_leader_and_epoch(partition, state)
    refused = answer.error is Error.UNKNOWN_LEADER_EPOCH and reads_nothing(answer)
    named = answer.node_endpoints or answer.current_leader not in (None, LeaderAndEpoch())
    stayed = own.error in (Error.NONE, Error.NOT_LEADER_OR_FOLLOWER)
    yield held_if(refused and not named and stayed, answer, own)
