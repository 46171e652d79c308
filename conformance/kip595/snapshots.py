"""Snapshots of the metadata log (KIP-630): the answers that carry their bytes."""

from __future__ import annotations

from collections.abc import Generator

from hypothesis.strategies import integers

from conformance.core.checks import Claim, held_if, premise, probe
from conformance.rigs.quorum.fetching import endpoint_of_leader
from conformance.rigs.quorum.mixed import MIXED, Mixed
from fixtures.wire import Error
from fixtures.wire.log import LeaderAndEpoch
from fixtures.wire.quorum import SnapshotPiece
from strategies.requests import versions_back


@probe("KIP595-API-07", rig=MIXED, cases=["fetch-snapshot"], position=integers(0, 60), older=versions_back(1))
def snapshot_bytes_carry_the_leaders_endpoint(mixed: Mixed, position: int, older: int) -> Generator[Claim, None, None]:
    """A FetchSnapshot answer has the host and port of the leader's controller listener."""
    found = mixed.snapshot()
    yield premise(found is not None, f"a snapshot that the leader names: {found}")
    name, version = mixed.one("leader"), mixed.version("FetchSnapshot", older, 1)

    def ask(settled: LeaderAndEpoch) -> SnapshotPiece:
        assert found is not None
        return mixed.client(name).fetch_snapshot(
            found, current_leader_epoch=settled.leader_epoch, cluster_id=mixed.cluster_id, position=position,
            version=version,
        )  # fmt: skip

    tried = mixed.tried(name, ask, disk=False)
    yield premise(tried.answer.error is Error.NONE, f"FetchSnapshot of {found}: {tried.answer.error}")
    yield held_if(tried.answer.node_endpoints == (endpoint_of_leader(tried),), tried.answer)
