"""Snapshots of the metadata log (KIP-630): the answers with their bytes."""

from collections.abc import Sequence
from typing import Any

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.quorum.fetching import endpoint_of_leader
from conformance.rigs.quorum.mixed import MIXED, Mixed
from protocol.codes import Error
from protocol.log import EpochAndOffset, LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, SnapshotPiece
from protocol.words import say
from strategies.inputs import PLACES, Place, near_or_far, versions_back


@probe("KIP595-API-07", rig=MIXED, cases=["fetch-snapshot"], place=PLACES, older=versions_back(1))
def snapshot_bytes_carry_the_leaders_endpoint(mixed: Mixed, place: Place, older: int) -> Claims:
    """A FetchSnapshot answer has the host and port of the leader's controller listener."""
    found = mixed.snapshot()
    yield premise(found is not None, f"a snapshot that the leader names: {say(found)}")
    name, version = mixed.one("leader"), mixed.version("FetchSnapshot", older, 1)
    position = _position_at(place, mixed, name, found, older)

    def ask(settled: LeaderAndEpoch) -> SnapshotPiece:
        assert found is not None
        return mixed.client(name).fetch_snapshot(
            found, current_leader_epoch=settled.leader_epoch, cluster_id=mixed.cluster_id, position=position,
            version=version,
        )  # fmt: skip

    tried = mixed.attempt(name, ask, disk=False)
    yield premise(tried.answer.error is Error.NONE, f"FetchSnapshot of {say(found)}: {tried.answer.error}")
    yield held_if(tried.answer.node_endpoints == (endpoint_of_leader(tried),), tried.answer)


@probe("KIP595-API-04", rig=MIXED, cases=["fetch-snapshot"], place=PLACES, older=versions_back(1))
def absent_cluster_id_fetches_the_snapshot(mixed: Mixed, place: Place, older: int) -> Claims:
    """A FetchSnapshot without a cluster id is answered with the same bytes as one with the right id."""
    found = mixed.snapshot()
    yield premise(found is not None, f"a snapshot that the leader names: {say(found)}")
    name = mixed.one("leader")
    position = _position_at(place, mixed, name, found, older)

    def ask(settled: LeaderAndEpoch) -> list[SnapshotPiece]:
        return [_piece(mixed, name, settled, found, position, older, cluster_id=id) for id in (None, mixed.cluster_id)]

    without, with_id = mixed.attempt(name, ask, disk=False).answer
    yield premise(with_id.error is with_id.top_level_error is Error.NONE, f"FetchSnapshot of {say(found)}: {with_id}")
    yield held_if(without == with_id and bool(without.unaligned_records), without, with_id)


@probe("KIP595-SNAP-01", rig=MIXED, cases=["content"], examples=2, smoke=False, pieces=integers(1, 8))
def served_snapshot_is_that_on_disk(mixed: Mixed, pieces: int) -> Claims:
    """FetchSnapshot returns the bytes of the leader's snapshot, in however many pieces they are fetched."""
    found = mixed.snapshot()
    yield premise(found is not None, f"a snapshot that the leader names: {say(found)}")
    name = mixed.one("leader")
    content = mixed.bench.read_file(name, _path_of(found)).content or b""
    yield premise(bool(content), f"{say(found)} on the disk of {name}")
    most, served = len(content) // pieces + 1, list[SnapshotPiece]()
    for position in range(0, len(content), most):
        served.append(fetch_piece(mixed, name, found, position, most))
    yield premise(mixed.one("leader") == name, f"{name} leads all the time")
    detail = f"of {len(content)} bytes of {say(found)} on disk, {len(served)} pieces of {most} were fetched"
    yield held_if(are_pieces_of(content, served), *served, detail=detail)


def _path_of(found: EpochAndOffset | None) -> str:
    assert found is not None
    return f"{METADATA_TOPIC}-0/{found.end_offset:020d}-{found.epoch:010d}.checkpoint"


def fetch_piece(mixed: Mixed, name: str, found: EpochAndOffset | None, position: int, most: int) -> SnapshotPiece:
    """Fetch at most `most` bytes of a snapshot from a position on."""
    return mixed.attempt(
        name, lambda settled: _piece(mixed, name, settled, found, position, 0, max_bytes=most), disk=False
    ).answer


def are_pieces_of(content: bytes, served: Sequence[SnapshotPiece]) -> bool:
    """True if the pieces follow each other, are those of the content, and name its size."""
    at = 0
    for one in served:
        records = one.unaligned_records or b""
        if one.position != at or one.size != len(content) or content[at : at + len(records)] != records:
            return False
        at += len(records)
    return at == len(content)


@probe("KIP595-FETCH-14", rig=MIXED, cases=["position"], beyond=near_or_far(1000, 0), older=versions_back(1))
def position_past_the_snapshot_is_out_of_range(mixed: Mixed, beyond: int, older: int) -> Claims:
    """A FetchSnapshot at or beyond the end of the snapshot is refused with POSITION_OUT_OF_RANGE."""
    found = mixed.snapshot()
    yield premise(found is not None, f"a snapshot that the leader names: {say(found)}")
    name = mixed.one("leader")

    def ask(settled: LeaderAndEpoch) -> SnapshotPiece:
        return _piece(mixed, name, settled, found, 0, older)

    whole = mixed.attempt(name, ask, disk=False).answer
    yield premise(whole.error is whole.top_level_error is Error.NONE, f"FetchSnapshot of {say(found)}: {whole}")
    end = whole.size + beyond
    tried = mixed.attempt(name, lambda settled: _piece(mixed, name, settled, found, end, older), disk=False)
    right = tried.answer.error is Error.POSITION_OUT_OF_RANGE and tried.answer.top_level_error is Error.NONE
    yield held_if(right, tried.answer)


def _position_at(place: Place, mixed: Mixed, name: str, found: EpochAndOffset | None, older: int) -> int:
    """Return a position in a snapshot, whose size is in the answer with its first piece."""
    first = mixed.attempt(name, lambda settled: _piece(mixed, name, settled, found, 0, older), disk=False).answer
    last = max(0, first.size - 1)
    return min(last, place.among([0, last // 4, last // 2, 3 * last // 4, last]))


def _piece(
    mixed: Mixed,
    name: str,
    settled: LeaderAndEpoch,
    found: EpochAndOffset | None,
    position: int,
    older: int,
    **more: Any,
) -> SnapshotPiece:
    """Fetch the bytes of a snapshot from a position on."""
    assert found is not None
    more.setdefault("cluster_id", mixed.cluster_id)
    return mixed.client(name).fetch_snapshot(
        found, current_leader_epoch=settled.leader_epoch, position=position,
        version=mixed.version("FetchSnapshot", older), **more,
    )  # fmt: skip
