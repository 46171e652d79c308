"""Three real voters of five. The kit plays the other two, which every commit and election needs after a failover."""

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import MIXED_QUORUM
from conformance.core.waiting import Settled
from conformance.rigs.quorum.frozen import LogEnd, grant_vote
from conformance.rigs.quorum.quorum import Quorum, QuorumData, cluster_id_of
from history.readings import Received
from protocol.log import EpochAndOffset, FetchedPartition, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.quorum import METADATA, QuorumAnswer

OFTEN = 0.1

SNAPSHOT_WITHIN = 8.0
"""Seconds within which the leader has a snapshot of a later epoch; from 4.4 on its first is the bootstrap snapshot."""


class Mixed(Quorum):
    """The real voters and their observer. `controllers` are those still up."""

    def __init__(self, bench: Bench, data: QuorumData) -> None:
        super().__init__(bench, data)
        self.peers = bench.peers
        [self.observer] = bench.brokers

    def lose_leader(self, voter: int) -> LeaderAndEpoch:
        """Kill the leader, and let another be elected with a peer's vote; return the new leader and its epoch."""
        killed = self.one("leader")
        self.controllers = self.followers()
        self.bench.processes.kill(killed, role="active controller")
        return self.bench.eventually(lambda: self._try_to_elect(voter), f"a successor of {killed}", due="leadership")

    def _try_to_elect(self, voter: int) -> LeaderAndEpoch | None:
        asked = self.peers.receive("Vote", peer=voter, within=OFTEN)
        if asked is not None:
            grant_vote(self.peers, asked)
        first, *others = (self.reported_leader(name) for name in self.controllers)
        live = {self.bench.id_of(name) for name in self.controllers}
        return first if first.leader_id in live and others == [first] else None

    def start_of(self, led: LeaderAndEpoch) -> LogEnd:
        """Return the log end of the earlier epochs, where the leader's own epoch begins."""

        def start_if_entered() -> LogEnd | None:
            former, own = self.epochs()[-2:]
            return LogEnd(former.epoch, own.start) if own.epoch == led.leader_epoch else None

        what = f"epoch {led.leader_epoch} in the log of its leader"
        return self.bench.eventually(start_if_entered, what, due="epoch in the log")

    def describe(self, led: LeaderAndEpoch) -> QuorumAnswer:
        return self.client(self.bench.name_of(led.leader_id)).describe_quorum()

    def has_snapshot(self) -> Settled:
        """Return whether the leader answers a log that ends in epoch 0 with a snapshot id in time."""
        led = self.agreed_leader()
        return self.bench.wait.becomes_true(
            lambda: self.fetch_as(-1, led, LogEnd(0, 1)).snapshot_id is not None,
            "a snapshot after epoch 0",
            SNAPSHOT_WITHIN,
        )

    def snapshot(self) -> EpochAndOffset | None:
        """Return a snapshot id that the leader answers to a log that ends in epoch 0 or, in newer releases, to an empty
        one; None if it does not in time."""
        led, found = self.agreed_leader(), list[EpochAndOffset]()

        def is_named() -> bool:
            answers = [self.fetch_as(-1, led, log) for log in (LogEnd(0, 1), LogEnd(0, 0))]
            found.extend(answer.snapshot_id for answer in answers if answer.snapshot_id is not None)
            return bool(found)

        return found[0] if self.bench.wait.becomes_true(is_named, "a snapshot", SNAPSHOT_WITHIN).outcome else None

    def fetch_as(self, replica: int, led: LeaderAndEpoch, log: LogEnd) -> FetchedPartition:
        """Fetch from the leader as a replica whose log ends at `log`."""
        wanted = FetchPartition(METADATA, 0, log.offset, led.leader_epoch, log.epoch)
        options = FetchOptions(replica_id=replica, cluster_id=self.cluster_id)
        return self.client(self.bench.name_of(led.leader_id)).fetch(wanted, options)

    def fetch_of_observer(self, since: float, within: float) -> Received | None:
        """Return the observer's first fetch to a peer after `since` on the kit's clock; None if none comes. Other requests are
        read as well, since an observer may ask for votes."""
        id, until = self.bench.id_of(self.observer), since + within
        while (asked := self.peers.receive(within=until - self.bench.now().seconds)) is not None:
            if asked.api == "Fetch" and asked.at > since and fetching_replica(asked) == id:
                return asked
        return None


def fetching_replica(fetch: Received) -> int:
    """Return the replica id of a fetch; from version 15 it is in ReplicaState (KIP-903)."""
    state = fetch.body.get("replica_state")
    id: int = state["replica_id"] if state else fetch.body["replica_id"]
    return id


def prepare_mixed(bench: Bench) -> QuorumData:
    """Wait until all three agree on a leader that commits."""
    data = QuorumData(cluster_id_of(bench))
    mixed = Mixed(bench, data)

    def whole() -> bool:
        led = mixed.agreed_leader()
        return mixed.describe(led).high_watermark >= 0

    bench.eventually(whole, "a leader of the quorum that commits", due="quorum")
    return data


MIXED = Rig(MIXED_QUORUM, prepare_mixed, Mixed)
