"""Later KIPs that rows depend on: what each promised, and the releases that brought it.

Taken from the KIPs, the upgrade notes and the message schemas of Kafka's repository. A boundary in the catalogue that names a KIP
lies at one of its releases, which a test checks.
"""

import re
from typing import NamedTuple

NAMED = re.compile(r"\bKIP-\d+\b")
"""A KIP in a row's text."""


class Kip(NamedTuple):
    """A later KIP. `since` are the minor releases that brought the parts on which rows depend; `says` has those parts
    in our words."""

    title: str
    since: tuple[str, ...]
    says: str


KIPS: dict[str, Kip] = {
    "KIP-405": Kip("Kafka Tiered Storage", ("3.5",), "ListOffsets 8 and Fetch 14 for what only the local log holds"),
    "KIP-847": Kip("Add ProducerIdCount metrics", ("3.5",), "a metric counts the producer ids of a broker"),
    "KIP-848": Kip(
        "The Next Generation of the Consumer Rebalance Protocol",
        ("3.7", "3.8", "4.0", "4.2"),
        "member epochs, checked on commits and fetches of offsets (a preview from 3.7); classic members in such a group (3.8); "
        "ready for production, with a configuration of groups (4.0); topic ids in OffsetCommit and OffsetFetch (4.2)",
    ),
    "KIP-853": Kip(
        "KRaft Controller Membership Changes",
        ("3.8", "3.9", "4.0", "4.2"),
        "Vote is accepted from all replicas, quorum-state lists no voters (3.8); replica keys and endpoints in the requests of "
        "voters, directory ids in descriptions of the quorum, bootstrap servers (3.9); metrics of voters (4.0); auto.join.enable "
        "(4.2)",
    ),
    "KIP-854": Kip(
        "Separate configuration for producer ID expiry", ("3.4",), "producer.id.expiration.ms, one day by default"
    ),
    "KIP-890": Kip(
        "Transactions Server-Side Defense",
        ("3.6", "3.8", "4.0"),
        "leaders verify a transaction with its coordinator (3.6); TRANSACTION_ABORTABLE (3.8); transaction.version 2: each "
        "transaction bumps the epoch (4.0)",
    ),
    "KIP-896": Kip(
        "Remove old client protocol API versions in Kafka 4.0",
        ("4.0",),
        "Fetch 0 to 3 and others are no longer offered",
    ),
    "KIP-903": Kip(
        "Replicas with stale broker epoch should not be allowed to join the ISR",
        ("3.5",),
        "broker epochs in Fetch 15 and AlterPartition 3, which refuse an earlier incarnation",
    ),
    "KIP-919": Kip(
        "Allow AdminClient to Talk Directly with the KRaft Controller Quorum and add Controller Registration",
        ("3.7",),
        "tools take --bootstrap-controller",
    ),
    "KIP-927": Kip("Improve the kafka-metadata-quorum output", ("3.6",), "--human-readable"),
    "KIP-951": Kip("Leader discovery optimisations for the client", ("3.7",), "Fetch 16 names the leader's endpoint"),
    "KIP-966": Kip(
        "Eligible Leader Replicas",
        ("3.7", "3.8"),
        "the high watermark waits while the ISR is below min.insync.replicas (3.7); DescribeTopicPartitions (3.8); elections "
        "among eligible replicas by the finalized eligible.leader.replicas.version",
    ),
    "KIP-996": Kip("Pre-Vote", ("4.0",), "a voter asks for pre-votes in its own epoch before it raises the epoch"),
    "KIP-1005": Kip("Expose EarliestLocalOffset and TieredOffset", ("3.9",), "ListOffsets 9"),
    "KIP-1023": Kip("Follower fetch from tiered offset", ("4.2",), "ListOffsets 11"),
    "KIP-1071": Kip("Streams Rebalance Protocol", ("4.2",), "groups of Kafka Streams, ready for production"),
    "KIP-1075": Kip(
        "Introduce delayed remote list offsets purgatory to make LIST_OFFSETS async", ("4.0",), "ListOffsets 10"
    ),
    "KIP-1102": Kip("Enable clients to rebootstrap based on timeout or error code", ("4.0",), "Metadata 13"),
    "KIP-1161": Kip(
        "Unifying LIST-Type Configuration Validation and Default Values",
        ("4.2",),
        "an empty cleanup.policy retains records indefinitely, and DeleteRecords may delete them",
    ),
    "KIP-1166": Kip(
        "Improve high-watermark replication",
        ("4.1",),
        "Fetch 18 tells a replica's high watermark, and is answered as soon as the leader's is higher",
    ),
    "KIP-1219": Kip(
        "Configurations for KRaft Fetch and FetchSnapshot Byte Size",
        ("4.3",),
        "controller.quorum.fetch.max.bytes and controller.quorum.fetch.snapshot.max.bytes",
    ),
    "KIP-1251": Kip(
        "Assignment epochs for consumer groups",
        ("4.3",),
        "a commit is accepted from the assignment epoch of its partition on",
    ),
    "KIP-1263": Kip(
        "Group Coordinator Assignment Batching and Offload", ("4.3",), "group.consumer.assignment.interval.ms"
    ),
    "KIP-1319": Kip(
        "Align TxnOffsetCommit API with OffsetCommit API",
        ("4.4",),
        "TxnOffsetCommit 6: topic ids, GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH",
    ),
}


def with_titles(promised: str) -> str:
    """Return the text with its title added to each KIP that `promised` names."""
    return NAMED.sub(lambda kip: f"{kip[0]} {KIPS[kip[0]].title}" if kip[0] in KIPS else kip[0], promised)
