"""Partitions in a failed log directory, and those beside them, on a broker with another directory that works (KIP-112)."""

from hypothesis.strategies import integers, permutations, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.epoch_requests import ends_epoch, is_refusal
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.log.two_log_dirs import HALF_LOST, TwoLogDirs
from conformance.rigs.versions import BACK, choose_version
from protocol.codes import Error
from protocol.log import EpochQuery
from protocol.records import batch
from protocol.since import since
from protocol.words import say


@probe(
    "KIP320-OFLE-07",
    rig=HALF_LOST,
    cases=["offline"],
    order=permutations(["sound", "offline"]),
    epoch=integers(0, 3),
    which=integers(0, 3),
    back=BACK,
)
def offline_partition_has_a_storage_error(
    disks: TwoLogDirs, order: list[str], epoch: int, which: int, back: int
) -> Claims:
    """In one request the partition of the failed directory is answered KAFKA_STORAGE_ERROR, and the other one as usual."""
    named = {"sound": disks.sound, "offline": disks.offline}
    chosen = {kind: of[which % len(of)] for kind, of in named.items()}
    state = chosen["sound"].state_by()
    expected = replica_log(chosen["sound"], disks.node).epoch_end(epoch, state.leader_epoch)
    version = choose_version(
        disks.bench, "OffsetForLeaderEpoch", back, low=since("OffsetForLeaderEpochRequest", "CurrentLeaderEpoch")
    )
    queries = [EpochQuery(chosen[kind].name, 0, leader_epoch=epoch) for kind in order]
    answer = disks.node.offset_for_leader_epoch_many(queries, version=version)
    lost = disks.failed_directory()
    yield premise(lost is not None, f"the broker without one of its log directories: {say(lost)}")
    found = {end.topic: end for end in answer.partitions}
    sound, offline = (found.get(chosen[kind].name) for kind in ("sound", "offline"))
    offline_refused = offline is not None and is_refusal(offline, Error.KAFKA_STORAGE_ERROR)
    answered = sound is not None and ends_epoch(sound, expected.epoch, expected.end_offset)
    yield held_if(offline_refused and answered, answer)


@probe(
    "GEN-20",
    rig=HALF_LOST,
    cases=["offline-directory"],
    records=integers(1, 3),
    acks=sampled_from([-1, 1]),
    which=integers(0, 3),
)
def partitions_of_the_other_directory_go_on(disks: TwoLogDirs, records: int, acks: int, which: int) -> Claims:
    """A partition of the other directory takes a write and returns it; one of the failed directory does not."""
    sound, offline = (of[which % len(of)] for of in (disks.sound, disks.offline))
    values = [f"value {number}".encode() for number in range(records)]
    refused_write = disks.node.produce(offline.topic, offline.index, batch(*values), acks=acks)
    yield premise(refused_write.error is not Error.NONE, f"a write into the failed directory: {refused_write}")
    written = disks.node.produce(sound.topic, sound.index, batch(*values), acks=acks)
    read = disks.node.fetch(sound.fetch_from(max(0, written.base_offset)))
    found = [record.value for one in read.batches for record in one.records]
    yield held_if(written.error is Error.NONE and found == values, written, read)
