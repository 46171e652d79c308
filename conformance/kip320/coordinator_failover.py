"""Committed epochs when the group coordinator dies or another broker takes over (KIP-320, Offset Schema Changes)."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis.strategies import booleans, integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise, probe
from conformance.core.topologies import COMBINED
from conformance.core.waiting import WITHIN
from conformance.rigs.groups.group_log import OFFSETS_TOPIC
from conformance.rigs.groups.offsets import COMMITS_EPOCH_FROM, holds_commit
from conformance.rigs.log.epoch_requests import LARGEST_EPOCH
from conformance.rigs.log.follower_fetches import await_whole_cluster
from conformance.rigs.log.partition import Partition, PartitionData, fresh_partition, new_partition
from conformance.rigs.restarts import await_answer
from conformance.rigs.topics import delete_topics
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient, WireError
from fixtures.wire.retriable import NOT_COORDINATED_YET, ask_again, require_accepted
from history.due import COORDINATOR_TIMEOUT
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.errors import KitError
from protocol.groups import CommittedOffset, NewOffset, OffsetFetchAnswer
from protocol.messages import Topic
from protocol.records import Record
from protocol.since import since
from protocol.topics import NewTopic
from protocol.words import say

NO_OFFSET = -1
NOT_LOADED_YET = NOT_COORDINATED_YET | {Error.UNSTABLE_OFFSET_COMMIT}
"""Errors of a coordinator that has not read the committed offsets, or not replicated them."""
GROUPS = 7
"""The number of groups in one example, each with one committed offset."""
ASKS_FOR_STABLE_FROM = since("OffsetFetchRequest", "RequireStable")
"""The first version of OffsetFetch that can ask for stable offsets only (KIP-447)."""
STORED = struct.Struct(">hqi")
"""The first fields of an OffsetCommitValue of version 3 or higher: version, offset, leader epoch."""
STORED_EPOCH_FROM = since("OffsetCommitValue", "leaderEpoch")
KEY_VERSION = 1
BY_NAME_UNTIL = 9
"""The last version of OffsetCommit and OffsetFetch that names a topic; later ones have its id."""


class GroupCommit(NamedTuple):
    """One group's offset as committed."""

    group: str
    offset: int
    epoch: int


class Commits:
    """Groups, each with a committed offset of one partition. FindCoordinator goes to the broker `via`."""

    def __init__(self, partition: Partition, offset: int, epoch: int, back: int) -> None:
        self.partition = partition
        self.bench = partition.bench
        self.via = self.bench.brokers[0]
        self._fetch = choose_version(self.bench, "OffsetFetch", back, low=ASKS_FOR_STABLE_FROM, high=BY_NAME_UNTIL)
        self._commit = choose_version(self.bench, "OffsetCommit", back, low=COMMITS_EPOCH_FROM, high=BY_NAME_UNTIL)
        self.sent: list[GroupCommit] = []
        for n in range(GROUPS):
            self.commit(offset + n, (epoch + n) % LARGEST_EPOCH)

    def coordinator(self, group: str) -> NodeClient | None:
        found = self.bench.node(self.via).find_coordinator(group, CoordinatorType.GROUP)
        return self.bench.node(found.node_id) if found.error is Error.NONE else None

    def commit(self, offset: int, epoch: int) -> None:
        """Commit this offset for a new group."""
        group, wanted = self.bench.fresh_name("group"), NewOffset(self.partition.topic, 0, offset, epoch)

        def is_committed() -> bool:
            node = self.coordinator(group)
            answer = node.offset_commit(group, [wanted], version=self._commit) if node else None
            return answer is not None and not ask_again(answer, NOT_COORDINATED_YET) and bool(require_accepted(answer))

        self.bench.eventually(is_committed, f"a commit of {group}")
        self.sent.append(GroupCommit(group, offset, epoch))

    def fetch(self, commit: GroupCommit, topic: Topic | None = None, version: int = -1) -> OffsetFetchAnswer:
        """Return the answer of the current coordinator once it has loaded, even if not yet replicated
        (RequireStable); optionally that of `topic`, in this version.

        Without RequireStable a new coordinator returns only what is below the high watermark, which lags on a new
        leader: an older offset is then no loss. Java's consumer always sets it.
        """
        asked, stable = topic or self.partition.topic, version < 0 or version >= ASKS_FOR_STABLE_FROM

        def answer_if_loaded() -> OffsetFetchAnswer | None:
            try:
                node = self.coordinator(commit.group)
                if node is None:
                    return None
                number = version if version >= 0 else self._fetch
                answer = node.offset_fetch(commit.group, [(asked, 0)], require_stable=stable, version=number)
            except WireError:
                return None
            return None if not answer.partitions or ask_again(answer, NOT_LOADED_YET) else answer

        return self.bench.eventually(
            answer_if_loaded, f"the committed offset of {commit.group}", COORDINATOR_TIMEOUT, due="coordinator"
        )

    def all_stored(self) -> Claims:
        """Yield, for each commit, the premise that it is readable before the fault."""
        for commit in self.sent:
            found = self.fetch(commit).only_partition
            yield premise(holds_commit(found, commit.offset, commit.epoch), f"{say(commit)} was stored: {found}")

    def all_returned(self, case: str) -> Claims:
        """Observe that each commit is returned as soon as the coordinator answers for the group, which must be in time
        (GEN-08)."""
        for commit in self.sent:
            answer = self.fetch(commit)
            found = answer.only_partition
            yield held_if(True, answer, row="GEN-08", case="coordinator")
            yield held_if(
                holds_commit(found, commit.offset, commit.epoch),
                answer,
                case=case,
                detail=f"sent {say(commit)}, came back {found}",
            )

    def none_of(self, topic: Topic, case: str, version: int) -> Claims:
        """Observe that no group has an offset of this new topic once its coordinator answers, up to the first that has
        one. The coordinator may first have to learn of the deletion."""
        for commit in self.sent:
            found: list[CommittedOffset] = []

            def is_gone(commit: GroupCommit = commit, found: list[CommittedOffset] = found) -> bool:
                found.append(self.fetch(commit, topic, version).only_partition)
                return found[-1].error is Error.NONE and found[-1].offset == NO_OFFSET

            gone = self.bench.wait.becomes_true(is_gone, f"no offset of {commit.group}", WITHIN)
            detail = (
                f"{say(commit)} was about a deleted topic; OffsetFetch {version} of the new one answers {found[-1]}"
            )
            yield held_if(gone, row="GEN-22", case=case, detail=detail)
            if gone.outcome is not True:
                return

    def none_in_any_form(self, topic: Topic, case: str, back: int) -> Claims:
        """Observe that no offset is committed: by topic name, `back` versions before the last with names, and by topic id."""
        by_name = choose_version(self.bench, "OffsetFetch", back, low=1, high=BY_NAME_UNTIL)
        newest = choose_version(self.bench, "OffsetFetch", 0, low=1)
        for version in sorted({by_name, newest}):
            yield from self.none_of(topic, case, version)


EPOCHS = integers(0, 10**6)
OFFSETS = integers(0, 10**9)


# --- the coordinator returns


def one_broker(bench: Bench) -> PartitionData:
    return new_partition(bench).data


@probe(
    "KIP320-OC-03",
    "GEN-08",
    rig=Rig(COMBINED, one_broker, Partition),
    cases=["restart"],
    smoke=False,
    offset=OFFSETS,
    epoch=EPOCHS,
    back=BACK,
)
def offsets_survive_a_crash(partition: Partition, offset: int, epoch: int, back: int) -> Claims:
    """The only coordinator is killed and loads the offsets that it had stored."""
    commits = Commits(partition, offset, epoch, back)
    yield from commits.all_stored()
    with partition.bench.processes.down(commits.via, role="group coordinator"):
        pass
    await_answer(partition.bench, commits.via)
    yield from commits.all_returned("restart")


# --- another broker takes over


def offsets_log(bench: Bench, asked: str) -> Partition:
    """Return the partition that holds all groups: the kit's clusters have one."""
    [topic] = bench.node(asked).metadata([OFFSETS_TOPIC]).topics
    return Partition(bench, PartitionData(Topic(OFFSETS_TOPIC, topic.topic_id), 0))


@probe(
    "KIP320-OC-03",
    "GEN-08",
    rig=fresh_partition(0),
    cases=["move"],
    smoke=False,
    offset=OFFSETS,
    epoch=EPOCHS,
    killed=booleans(),
    back=BACK,
)
def offsets_survive_a_move(partition: Partition, offset: int, epoch: int, killed: bool, back: int) -> Claims:
    """The coordinator is killed, or its partition moves to another leader: the new one has all offsets and epochs, the last of
    which was committed just before."""
    bench, commits = partition.bench, Commits(partition, offset, epoch, back)
    yield from commits.all_stored()
    log = offsets_log(bench, commits.via)
    before = log.wait_until_whole().leader
    commits.commit(offset, epoch)
    if killed:
        commits.via = next(name for name in bench.brokers if bench.id_of(name) != before)
        with bench.processes.down(bench.name_of(before), role="group coordinator"):
            bench.eventually(lambda: log.state_by(commits.via).leader not in (-1, before), "another coordinator")
            claims = list(commits.all_returned("move"))
            after = log.state_by(commits.via).leader
        await_whole_cluster(bench)
    else:
        after = log.move_leader().leader
        claims = list(commits.all_returned("move"))
    yield premise(after != before, f"{after} took over from {before}")
    yield from claims


# --- the topic is deleted, and another has its name


def created_again(partition: Partition, via: str) -> Topic:
    """Delete the topic, and create one of the same name on the asked broker; return the new one."""
    node, name = partition.bench.node(via), partition.name
    delete_topics(partition.bench, [partition.topic], by=node)

    def is_created() -> Topic | None:
        answer = node.create_topics([NewTopic(name, ((partition.bench.id_of(via),),))])
        [topic] = answer.topics
        return Topic(name, topic.topic_id) if topic.error is Error.NONE else None

    return partition.bench.eventually(is_created, f"another topic {name}")


@probe(
    "GEN-22",
    rig=fresh_partition(0),
    cases=["undisturbed"],
    smoke=False,
    offset=OFFSETS,
    epoch=EPOCHS,
    back=BACK,
)
def new_topic_has_no_committed_offsets(partition: Partition, offset: int, epoch: int, back: int) -> Claims:
    """Groups commit for a topic, which is deleted and created again under its name."""
    commits = Commits(partition, offset, epoch, back)
    yield from commits.all_stored()
    yield from commits.none_in_any_form(created_again(partition, commits.via), "undisturbed", back)


@probe(
    "GEN-22",
    rig=fresh_partition(0),
    cases=["coordinator-down"],
    smoke=False,
    offset=OFFSETS,
    epoch=EPOCHS,
    back=BACK,
)
def coordinator_is_down_while_the_topic_is_deleted(partition: Partition, offset: int, epoch: int, back: int) -> Claims:
    """The coordinator is killed; before another takes over, the topic is deleted and created again under its name."""
    bench, commits = partition.bench, Commits(partition, offset, epoch, back)
    yield from commits.all_stored()
    log = offsets_log(bench, commits.via)
    before = log.wait_until_whole().leader
    commits.via = next(name for name in bench.brokers if bench.id_of(name) != before)
    with bench.processes.down(bench.name_of(before), role="group coordinator"):
        new = created_again(partition, commits.via)
        meanwhile = log.state_by(commits.via).leader
        bench.eventually(lambda: log.state_by(commits.via).leader not in (-1, before), "another coordinator")
        claims = list(commits.none_in_any_form(new, "coordinator-down", back))
    await_whole_cluster(bench)
    yield premise(meanwhile in (-1, before), f"{meanwhile} led after the topic was created again, {before} before")
    yield from claims


# --- what is stored


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def key_of(commit: GroupCommit, topic: str) -> bytes:
    return struct.pack(">h", KEY_VERSION) + text(commit.group) + text(topic) + struct.pack(">i", 0)


def records_from(log: Partition, offset: int) -> list[Record]:
    """Return all records from this offset on."""
    node, records = log.leader(), list[Record]()
    end = node.list_offsets(log.name, 0).offset
    while offset < end:
        fetched = node.fetch(log.fetch_from(offset))
        if not fetched.batches:
            raise KitError(f"{log.name} could not be read from {offset} to {end}: {fetched}")
        records += [record for batch in fetched.batches for record in batch.records]
        offset = fetched.batches[-1].last_offset + 1
    return records


def newest_value(records: Sequence[Record], key: bytes) -> tuple[int, int, int] | None:
    """Return version, offset and epoch of the key's newest value; None if it has none."""
    values = [record.value for record in records if record.key == key and record.value is not None]
    return STORED.unpack_from(values[-1]) if values and len(values[-1]) >= STORED.size else None


@probe(
    "KIP320-OC-03",
    rig=fresh_partition(0),
    cases=["record"],
    smoke=False,
    offset=OFFSETS,
    epoch=EPOCHS,
    back=BACK,
)
def stored_value_has_the_epoch(partition: Partition, offset: int, epoch: int, back: int) -> Claims:
    """The value in __consumer_offsets has version 3 or higher, and the offset and epoch that were committed."""
    first = Commits(partition, offset, epoch, back)  # the log exists after the first commit
    log = offsets_log(partition.bench, first.via)
    start = log.leader().list_offsets(log.name, 0).offset
    commits = Commits(partition, offset, epoch, back)
    records = records_from(log, start)
    for commit in commits.sent:
        found = newest_value(records, key_of(commit, partition.name))
        yield premise(found is not None, f"a value for {say(commit)} in {OFFSETS_TOPIC}")
        held = found is not None and found[0] >= STORED_EPOCH_FROM and found[1:] == (commit.offset, commit.epoch)
        yield held_if(
            held, case="record", detail=f"{say(commit)} was sent; the record has version, offset and epoch {say(found)}"
        )
