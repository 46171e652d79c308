"""The page from Kafka's source to rows, generated from the requests in the checks' stored examples."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from conformance.catalogue import shipped_rows
from conformance.catalogue.rows import Requirement
from conformance.cli.pages.catalogue import page_of
from conformance.core.registry import every_check
from history.events import Call
from history.store import read_histories

STORED = Path(__file__).parents[3] / "tests" / "stored"
COMMON = 0.25
"""The share of checks above which a request counts as part of every set-up. Such a request is linked to a row only if the row's
text names it."""
ABOUT = """\
Which rows may a change touch? Left is a place in Kafka's source; right are the groups of rows whose checks send the
requests that reach it, as globs for `--requirement`, with the number of these rows. Made from the requests in stored
examples of a smoke run of 3.9.2 and 4.3.1; a request that most checks need for their set-up counts where the row names
it. Invariants of logs and producers, which judges look for in every history, are not in the table: the machines show
those.
"""
FEW = 2
"""A group with fewer rows for a place is left out of its line."""
SPELLED = {
    "add_partitions_to_txns": "AddPartitionsToTxn",
    "describe_transaction": "DescribeTransactions",
    "txn_offset_commit": "TxnOffsetCommit",
}
PLACES: dict[str, tuple[str, ...]] = {
    "core: `kafka.server.ReplicaManager`, `kafka.cluster.Partition`": ("Produce", "Fetch", "ListOffsets", "DeleteRecords"),
    "core: `AbstractFetcherThread`, `ReplicaFetcherThread`": ("Fetch", "OffsetForLeaderEpoch"),
    "storage: `internals.log.UnifiedLog`, `LocalLog`": ("Produce", "Fetch", "ListOffsets", "DeleteRecords"),
    "storage: `internals.epoch.LeaderEpochFileCache`": ("OffsetForLeaderEpoch", "Fetch", "ListOffsets"),
    "storage: `ProducerStateManager`": ("Produce", "DescribeProducers", "WriteTxnMarkers"),
    "core, transaction-coordinator: `TransactionCoordinator`, `TransactionStateManager`": (
        "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "DescribeTransactions", "WriteTxnMarkers",
    ),
    "group-coordinator: `GroupMetadataManager`, `OffsetMetadataManager`": (
        "ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch",
        "TxnOffsetCommit", "StreamsGroupHeartbeat",
    ),
    "raft: `KafkaRaftClient`, `QuorumState`": (
        "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot", "DescribeQuorum",
    ),
    "metadata: `controller.ReplicationControlManager`": (
        "AlterPartition", "AlterPartitionReassignments", "ElectLeaders", "CreateTopics", "DeleteTopics",
    ),
    "metadata: `controller.ConfigurationControlManager`": ("IncrementalAlterConfigs", "DescribeConfigs"),
    "metadata: `image`; core: `KRaftMetadataCache`": ("Metadata", "DescribeTopicPartitions", "DescribeCluster"),
}  # fmt: skip
"""Classes that people change, by module of Kafka's build, with the requests that reach them."""


def requests_page() -> str:
    """Return the page: rows by place in Kafka's source, and by request."""
    return "\n".join(_lines(rows_by_request(sent_by_checks()))) + "\n"


def sent_by_checks() -> dict[str, set[str]]:
    """Return the requests that each check sends, according to its stored examples."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(STORED.glob("*.jsonl.zst")):
        for history in read_histories(path):
            found[history.example.check] |= {request_name(one.op) for one in history.events if isinstance(one, Call)}
    return found


def request_name(op: str) -> str:
    """Return Kafka's name for an operation: ``Fetch`` for ``park_fetch`` and ``fetch_many``."""
    plain = re.sub(r"^parke?d?_|_many$", "", op)
    return SPELLED.get(plain) or "".join(word.capitalize() for word in plain.split("_"))


def rows_by_request(sent: Mapping[str, set[str]]) -> dict[str, list[Requirement]]:
    """Return the rows about each request: those with a check of their own that sends it, if it is not part of every set-up or the
    row's text names it."""
    checks = {
        row: [check.id for check in every_check().values() if row in getattr(check, "own_rows", ())] for row in _ids()
    }
    requests = {name for places in PLACES.values() for name in places}
    common = {name for name in requests if sum(name in of_one for of_one in sent.values()) > COMMON * len(sent)}
    found: dict[str, list[Requirement]] = {}
    for name in sorted(requests):
        found[name] = [
            row
            for row in shipped_rows()
            if any(name in sent.get(check, ()) for check in checks[row.id])
            and (name not in common or _names(row, name))
        ]
    return found


def _ids() -> Iterator[str]:
    return (row.id for row in shipped_rows())


def _names(row: Requirement, request: str) -> bool:
    text = " ".join([row.title, row.statement, row.section, *(case.about for case in row.cases)])
    return bool(re.search(rf"\b{request}(es|ed|s|d)?\b", text, re.IGNORECASE))


def _lines(rows: Mapping[str, Sequence[Requirement]]) -> Iterator[str]:
    yield from ("# From Kafka's source to rows", "")
    yield from ABOUT.splitlines()
    yield from ("", "| a change in | requests | rows |", "|---|---|---|")
    for place, requests in PLACES.items():
        found = ", ".join(f"`{group}` ({count})" for group, count in _groups(rows[name] for name in requests))
        yield f"| {place} | {', '.join(requests)} | {found or '–'} |"
    yield from ("", "## By request", "")
    for name, of_request in rows.items():
        yield from (
            f"### {name}",
            "",
            ", ".join(f"[{row.id}]({page_of(row.kip)}#{row.id.lower()})" for row in of_request) or "No row of its own.",
            "",
        )


def _groups(of_requests: Iterable[Sequence[Requirement]]) -> list[tuple[str, int]]:
    """Return globs over row ids with their numbers of rows, the largest first, without small groups."""
    rows = {row.id for of_one in of_requests for row in of_one}
    counts = Counter(f"{row.rpartition('-')[0]}-*" for row in rows if not row.endswith("-L"))
    return [(group, count) for group, count in sorted(counts.items(), key=_most_first) if count >= FEW]


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]
