"""A follower that is removed and added again: the epoch in between, and the bytes that it copies (KIP-101)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.follower_fetches import TRIO, reassign_replicas
from conformance.rigs.log.partition import Partition
from fixtures.wire.records import LENGTHS
from history.readings import File
from protocol.records import Codec, batch
from protocol.words import say_change


def whole_batches(file: File) -> dict[int, bytes]:
    """Return the bytes of each batch in a segment, by base offset."""
    data, at, found = file.content or b"", 0, {}
    while len(data) - at >= LENGTHS.size:
        base_offset, length = LENGTHS.unpack_from(data, at)
        found[base_offset] = data[at : at + LENGTHS.size + length]
        at += LENGTHS.size + length
    return found


def read_first_segment(partition: Partition, broker: int) -> File:
    """Read a replica's first segment, which is its only one here."""
    name = partition.bench.name_of(broker)
    return partition.bench.read_file(name, f"{partition.name}-{partition.index}/00000000000000000000.log")


def batches_are_copied(leader: File, follower: File) -> Claims:
    """Check STAMP-03: each batch of the leader is the same as the follower's at the same offset."""
    copied = whole_batches(follower)
    for offset, original in whole_batches(leader).items():
        copy = copied.get(offset, b"")
        detail = f"the batch at offset {offset}: {original.hex()} at the leader, {copy.hex()} at the follower"
        same = copy == original
        yield held_if(same, leader, follower, row="KIP101-STAMP-03", case="replicated", detail=detail)


@probe(
    "KIP101-EPOCH-03",
    "KIP101-STAMP-03",
    rig=TRIO,
    removed=integers(0, 1),
    codec=sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD]),
)
def removed_follower_is_added_again(partition: Partition, removed: int, codec: Codec) -> Claims:
    """Removing it raises the epoch, adding it does not; it copies batches of all epochs byte for byte."""
    partition.append(batch(b"one", b"two", codec=codec, leader_epoch=999))
    before = partition.wait_until_whole()
    followers = [id for id in before.replicas if id != before.leader]
    fewer = reassign_replicas(partition, tuple(id for id in before.replicas if id != followers[removed]))
    more = reassign_replicas(partition, before.replicas)
    leader, *copies = (read_first_segment(partition, id) for id in (before.leader, *followers))
    yield premise(before.leader == fewer.leader == more.leader, f"led by {before.leader} all the time")
    detail = f"without {followers[removed]}, {say_change(before, fewer)}; with it, {say_change(fewer, more)}"
    yield held_if(fewer.leader_epoch > before.leader_epoch, case="removal", detail=detail)
    yield held_if(more.leader_epoch == fewer.leader_epoch, case="addition", detail=detail)
    for copy in copies:
        yield from batches_are_copied(leader, copy)
