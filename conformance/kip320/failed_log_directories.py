"""Partitions in a failed log directory, on a broker with another directory that works (KIP-101 as released, KIP-112)."""

from __future__ import annotations

from collections.abc import Generator

from hypothesis.strategies import integers, permutations

from conformance.core.checks import Claim, held_if, premise, probe
from conformance.rigs.log.epoch_requests import ends, refused
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.log.two_log_dirs import HALF_LOST, TwoLogDirs
from conformance.rigs.versions import BACK, spoken
from fixtures.wire import Error
from fixtures.wire.log import EpochQuery
from history.since import since


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
) -> Generator[Claim, None, None]:
    """In one request the partition of the failed directory is answered KAFKA_STORAGE_ERROR, and the other one as usual."""
    named = {"sound": disks.sound, "offline": disks.offline}
    chosen = {kind: of[which % len(of)] for kind, of in named.items()}
    state = chosen["sound"].state()
    expected = replica_log(chosen["sound"], disks.node).epoch_end(epoch, state.leader_epoch)
    version = spoken(
        disks.bench, "OffsetForLeaderEpoch", back, low=since("OffsetForLeaderEpochRequest", "CurrentLeaderEpoch")
    )
    queries = [EpochQuery(chosen[kind].name, 0, leader_epoch=epoch) for kind in order]
    answer = disks.node.offset_for_leader_epoch_many(queries, version=version)
    lost = disks.lost()
    yield premise(lost is not None, f"the broker without one of its log directories: {lost}")
    found = {end.topic: end for end in answer.partitions}
    sound, offline = (found.get(chosen[kind].name) for kind in ("sound", "offline"))
    offline_refused = offline is not None and refused(offline, Error.KAFKA_STORAGE_ERROR)
    answered = sound is not None and ends(sound, expected.epoch, expected.end_offset)
    yield held_if(offline_refused and answered, answer)
