"""The offer that the episodes of the log machine are drawn from: its steps, and faults around each of its partitions."""

from __future__ import annotations

from hypothesis.strategies import SearchStrategy, booleans, builds, integers, just, lists, none, one_of, sampled_from

from fixtures.faults.kinds.clock import ClockShift
from fixtures.faults.kinds.disk import (
    CutTailAbove,
    CutTailBelow,
    FailedDirectory,
    FailedDisk,
    OldEpochCheckpoint,
    RemoveEpochCheckpoint,
    RemoveIndexFiles,
    RemoveRebuiltFile,
    RemoveReplica,
    RemoveWatermarkCheckpoint,
    WipeDisk,
)
from fixtures.faults.kinds.elections import MoveLeader, PreferredElection, Reassign
from fixtures.faults.kinds.frames import Delay
from fixtures.faults.kinds.full_disk import FullDisk
from fixtures.faults.kinds.logs import RetentionBySize, RetentionByTime, RollBySize
from fixtures.faults.kinds.network import Drop, Loss, RateLimit
from fixtures.faults.kinds.process import Freeze, Kill, PausePastFencing, RollingRestart, Stop
from fixtures.faults.kinds.shapes import Isolate, OneLink
from fixtures.faults.kinds.unclean import UncleanElection, UncleanElectionByConfig
from fixtures.faults.kinds.zombies import CutOffFromControllers, IsolatedControllerLeader, PausedZombie
from strategies.episodes import FaultKind, Offer, always, offered
from strategies.faults import faults_of
from strategies.log import (
    CODECS,
    BriefLogFault,
    Collect,
    Consume,
    DeleteRecords,
    FetchAt,
    FetchInFlight,
    FetchInSession,
    Join,
    Leave,
    ListOffsets,
    OffsetFetch,
    OffsetForLeaderEpoch,
    PartitionName,
    PollGroup,
    ProbeLeaders,
    Produce,
    ProduceIdempotently,
    ProduceInFlight,
    ProduceToAll,
    Read,
    ReplicaRole,
    RevisitPosition,
    Transact,
)
from strategies.steps import (
    AddPartitions,
    AlterClusterDefault,
    AlterConfig,
    CancelReassignment,
    CreateTopic,
    DeleteTopic,
    DisturbBriefly,
    ElectPreferredLeader,
    ElectUncleanly,
    ReadEverything,
    ReassignPartition,
    RecreateTopic,
    Step,
    brief_disturbances,
    echoes,
    index_of,
    sweeps,
    topic_of,
)

REPLICATED: tuple[PartitionName, ...] = ("strict-0", "strict-1", "loose-0", "compacted-0")
"""Those that begin with a replica on every broker."""
FIXED: tuple[PartitionName, ...] = (*REPLICATED, "lone-0")
"""Those that are there from the start."""
DRAWN: tuple[PartitionName, ...] = ("drawn-0", "drawn-1")
FLEETING: PartitionName = "fleeting-0"
EVERY_PARTITION: tuple[PartitionName, ...] = (*FIXED, *DRAWN, FLEETING)
UNCOMPACTED: tuple[PartitionName, ...] = ("strict-0", "strict-1", "loose-0", "drawn-0")
UNCLEAN_ON: tuple[PartitionName, ...] = ("loose-0",)
ROLES: tuple[ReplicaRole, ...] = ("leader", "follower", "former-leader")

_ROLE = sampled_from(ROLES)
_WRITTEN_TO = sampled_from([*3 * ("leader",), *ROLES])
"""Mostly the leader: a log that does not change shows little."""
_BACK = integers(-1, 2)
_MIN_ISR, _UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


def _uncompacted(on: str) -> PartitionName:
    """The partition, or one in its place whose records need no key."""
    return on if on != "compacted-0" else "strict-0"  # type: ignore[return-value]


# --- producers


def produces(on: str) -> SearchStrategy[Produce]:
    return builds(
        Produce,
        on=just(on),
        records=integers(1, 4),
        acks=sampled_from([-1, -1, 1, 0]),
        to=_WRITTEN_TO,
        codec=sampled_from(CODECS),
        size=sampled_from([0, 0, 400, 900, 1_950, 5_000]),
    )


def produces_to_all() -> SearchStrategy[ProduceToAll]:
    return builds(ProduceToAll, records=integers(1, 3), acks=sampled_from([-1, 1]), to=_WRITTEN_TO)


def acknowledged_produces(on: str) -> SearchStrategy[Produce]:
    return builds(Produce, on=just(on), records=integers(1, 2), acks=just(-1))


def stale_produces(on: str) -> SearchStrategy[Produce]:
    return builds(Produce, on=just(on), records=integers(1, 2), acks=just(1), to=just("former-leader"))


def idempotent_produces(on: str) -> SearchStrategy[ProduceIdempotently]:
    return builds(ProduceIdempotently, on=just(on), producer=integers(1, 2), records=integers(1, 3), to=_WRITTEN_TO)


def produces_in_flight(on: str) -> SearchStrategy[ProduceInFlight]:
    return builds(ProduceInFlight, on=just(on), records=integers(1, 3), to=_WRITTEN_TO)


def transactions(on: str) -> SearchStrategy[Transact]:
    return builds(
        Transact, on=just(_uncompacted(on)), records=integers(1, 3), end=sampled_from(["commit", "abort", "open"])
    )


# --- raw fetchers


def reads(on: str) -> SearchStrategy[Read]:
    return builds(Read, on=just(on), role=_ROLE, full_log=booleans(), current_back=one_of(_BACK, none()))


def fetches(on: str) -> SearchStrategy[FetchAt]:
    return builds(
        FetchAt, on=just(on), role=_ROLE, before_end=integers(-1, 4), last_fetched_back=_BACK, current_back=_BACK
    )


def fetches_in_flight(on: str) -> SearchStrategy[FetchInFlight]:
    return builds(FetchInFlight, on=just(on), role=_ROLE)


def session_fetches(on: str) -> SearchStrategy[FetchInSession]:
    return builds(FetchInSession, on=just(on), role=_ROLE, current_back=_BACK)


def revisits(on: str) -> SearchStrategy[RevisitPosition]:
    return builds(RevisitPosition, on=just(on), role=_ROLE, back=integers(0, 9))


def epoch_requests(on: str) -> SearchStrategy[OffsetForLeaderEpoch]:
    return builds(OffsetForLeaderEpoch, on=just(on), role=_ROLE, epochs_back=integers(0, 3), current_back=_BACK)


def offset_requests(on: str) -> SearchStrategy[ListOffsets]:
    return builds(ListOffsets, on=just(on), role=_ROLE, current_back=_BACK)


def consumptions() -> SearchStrategy[Consume]:
    return builds(Consume, rack=sampled_from([None, 1, 2, 3]))


def deletions(on: str) -> SearchStrategy[DeleteRecords]:
    """Of short logs: what is kept of them is less than what an episode writes."""
    return builds(DeleteRecords, on=just(_uncompacted(on)), keep=sampled_from([2, 0, 1, 3, 5]), to=_ROLE)


# --- administration


def reassignments(on: str) -> SearchStrategy[ReassignPartition]:
    """A partition with a replica on every broker has to lose one before it can get one."""
    changes = (
        ["shrink", "shrink", "grow", "swap", "reorder"] if on in REPLICATED else ["grow", "swap", "shrink", "reorder"]
    )
    return builds(
        ReassignPartition,
        on=just(topic_of(on)),
        partition=just(index_of(on)),
        change=sampled_from(changes),
        pick=integers(0, 2),
    )


def cancellations(on: str) -> SearchStrategy[CancelReassignment]:
    return builds(CancelReassignment, on=just(topic_of(on)), partition=just(index_of(on)))


def preferred_elections(on: str) -> SearchStrategy[ElectPreferredLeader]:
    return builds(ElectPreferredLeader, on=just(topic_of(on)), partition=just(index_of(on)))


def unclean_elections(on: str) -> SearchStrategy[ElectUncleanly]:
    return builds(ElectUncleanly, on=just(topic_of(on)), partition=just(index_of(on)))


def alterations(on: str) -> SearchStrategy[AlterConfig]:
    """Of the topic: what leaders and controllers act by. Retention only of the drawn topic, whose records may go."""
    values = {
        _MIN_ISR: ["1", "2", "3", None],
        _UNCLEAN: ["true", "false", None],
        "segment.bytes": ["16384", None],
        "max.message.bytes": ["2000", None],
        "flush.messages": ["1", None],
    }
    if topic_of(on) == "drawn":
        values |= {"retention.bytes": ["1", None], "retention.ms": ["1", None]}
    return one_of(
        *(
            builds(AlterConfig, on=just(topic_of(on)), key=just(key), value=sampled_from(drawn))
            for key, drawn in values.items()
        )
    )


def default_alterations(on: str) -> SearchStrategy[AlterClusterDefault]:
    """Not of min.insync.replicas, which cannot be deleted again where brokers have eligible leader replicas (KIP-966)."""
    return builds(AlterClusterDefault, key=just(_UNCLEAN), value=sampled_from(["true", "false", None]))


def creations(on: str = "fleeting-0") -> SearchStrategy[CreateTopic]:
    """The fleeting topic, or the drawn one."""
    return builds(
        CreateTopic,
        on=just(on if on in ("drawn", "fleeting") else "fleeting"),
        partitions=integers(1, 2),
        replication_factor=integers(1, 3),
        configs=_settings(),
    )


def _settings() -> SearchStrategy[dict[str, str]]:
    """Of a drawn topic; each setting may be left to the cluster."""
    return builds(
        _set,
        sampled_from(["2", "1", "3", None]),
        sampled_from([None, "16384"]),
        sampled_from([None, "true", "false"]),
        sampled_from([None, "lz4", "zstd", "gzip"]),
        sampled_from([None, "2000"]),
    )


SETTINGS = (_MIN_ISR, "segment.bytes", _UNCLEAN, "compression.type", "max.message.bytes")


def _set(*values: str | None) -> dict[str, str]:
    return {key: value for key, value in zip(SETTINGS, values, strict=True) if value is not None}


def topic_deletions(on: str) -> SearchStrategy[DeleteTopic]:
    return just(DeleteTopic(on="fleeting"))


def recreations(on: str) -> SearchStrategy[RecreateTopic]:
    return builds(
        RecreateTopic,
        on=just("fleeting"),
        partitions=integers(1, 2),
        replication_factor=integers(1, 3),
        configs=_settings(),
    )


def more_partitions(on: str) -> SearchStrategy[AddPartitions]:
    return builds(AddPartitions, on=sampled_from(["drawn", "fleeting"]), total=integers(1, 3))


# --- faults


_HIT = sampled_from(["leader", "follower"])
_ANY = sampled_from([*2 * ("leader", "follower"), "active controller", "voter", "group coordinator", "broker"])
"""Half of the time a replica of the partition, so that faults meet there."""


def _offered() -> dict[str, FaultKind]:
    around = (*REPLICATED, "drawn-0", "lone-0")
    processes = [
        offered(Kill, faults_of(Kill, role=_ANY), around),
        offered(Stop, faults_of(Stop, role=_ANY), around),
        offered(Freeze, faults_of(Freeze, role=_ANY), around),
        offered(PausePastFencing, faults_of(PausePastFencing, role=_HIT), around),
        offered(PausedZombie, faults_of(PausedZombie, role=_HIT), around),
    ]
    links = [
        offered(CutOffFromControllers, faults_of(CutOffFromControllers, role=_HIT), around),
        offered(Isolate, faults_of(Isolate, role=_ANY, clients_too=just(False)), around),
        offered(OneLink, faults_of(OneLink, role=_HIT, peer=sampled_from(LINKED)), around),
        offered(Drop, faults_of(Drop, role=_HIT, peer=sampled_from(["brokers", "follower", "controllers"])), around),
        offered(Loss, faults_of(Loss, role=_HIT, peer=just("brokers")), around),
        offered(Delay, faults_of(Delay, role=_HIT, peer=just("brokers")), around),
        offered(RateLimit, faults_of(RateLimit, role=_HIT, peer=just("brokers"), direction=just("out")), around),
        offered(IsolatedControllerLeader, faults_of(IsolatedControllerLeader), around),
    ]
    # They write records without a key, which a compacted topic refuses, to have something to damage.
    damages = (
        CutTailAbove,
        CutTailBelow,
        OldEpochCheckpoint,
        RemoveEpochCheckpoint,
        RemoveIndexFiles,
        RemoveRebuiltFile,
        RemoveReplica,
        RemoveWatermarkCheckpoint,
        WipeDisk,
    )
    disks = [
        # The first needs a broker with several log directories, the second one with a single one.
        offered(FailedDirectory, faults_of(FailedDirectory, role=_HIT), around),
        offered(FailedDisk, faults_of(FailedDisk, role=_HIT), around),
        *(offered(kind, faults_of(kind, role=_HIT), UNCOMPACTED) for kind in damages),
    ]
    alone = [
        # On the machine's own partition, which the judges follow.
        *(
            offered(kind, faults_of(kind, own_topic=just(False)), UNCLEAN_ON)
            for kind in (UncleanElection, UncleanElectionByConfig)
        ),
        offered(FullDisk, faults_of(FullDisk, role=_HIT), UNCOMPACTED),
        offered(ClockShift, faults_of(ClockShift, role=_HIT), REPLICATED),
    ]
    return dict([*processes, *links, *disks, *alone])


MAIN = (
    "kill",
    "stop",
    "pause-past-fencing",
    "cut-off-from-controllers",
    "isolate",
    "one-link",
    "drop",
    "cut-tail-above",
    "remove-epoch-checkpoint",
    "wipe-disk",
)
"""The faults each pair of which is to meet on one partition, in either order."""
LINKED = ("follower", "follower", "leader", "active controller")
"""The other end of a link that is cut: mostly a follower, which copies from the leader until that one is lost."""


def _looks(on: str) -> SearchStrategy[Step]:
    return sampled_from([ReadEverything(), ProbeLeaders()])


def _begin() -> SearchStrategy[list[Step]]:
    """A drawn topic, perhaps one that later steps delete, something to read everywhere, and perhaps consumers."""
    consumers: list[list[Step]] = [[], [Join(), PollGroup()], [Consume()], [Consume(rack=1)]]
    return builds(
        lambda made, fleeting, written, consuming: [made, *fleeting, written, *consuming],
        creations("drawn"),
        lists(creations(), max_size=1),
        produces_to_all(),
        sampled_from(consumers),
    )


def log_offer() -> Offer:
    """All that episodes of the log machine are made of."""
    return Offer(
        subjects=("strict-0", "drawn-0", "loose-0", "drawn-0", "strict-1", "compacted-0", "drawn-0", "lone-0"),
        begin=_begin(),
        faults=_offered(),
        main=MAIN,
        behind=("one-link",),
        losing=("kill", "pause-past-fencing"),
        damaging=("cut-tail-above", "cut-tail-below", "remove-epoch-checkpoint"),
        cutting=("isolate", "cut-off-from-controllers"),
        work={
            "produce": produces,
            "produce-idempotently": idempotent_produces,
            "produce-in-flight": produces_in_flight,
            "fetch-in-flight": fetches_in_flight,
            "collect": always(Collect()),
            "transact": transactions,
            "produce-to-all": lambda on: produces_to_all(),
            "read": reads,
            "fetch-at": fetches,
            "revisit-position": revisits,
            "offset-for-leader-epoch": epoch_requests,
            "list-offsets": offset_requests,
            "delete-records": deletions,
            "consume": lambda on: consumptions(),
            "join": always(Join()),
            "poll-group": always(PollGroup()),
            "leave": always(Leave()),
            "offset-fetch": always(OffsetFetch()),
            "fetch-in-session": session_fetches,
            "echo": lambda on: echoes(),
            "sweep": lambda on: sweeps(),
            "brief": transient_faults,
        },
        writes=(
            "produce",
            "produce-idempotently",
            "produce-in-flight",
            "transact",
            "produce-to-all",
            "delete-records",
        ),
        acknowledged=acknowledged_produces,
        stale=stale_produces,
        administration={
            "reassign-partition": reassignments,
            "cancel-reassignment": cancellations,
            "elect-preferred-leader": preferred_elections,
            "elect-uncleanly": unclean_elections,
            "alter-config": alterations,
            "alter-cluster-default": default_alterations,
            "create-topic": creations,
            "delete-topic": topic_deletions,
            "recreate-topic": recreations,
            "add-partitions": more_partitions,
        },
        looks=_looks,
    )


def transient_faults(on: str) -> SearchStrategy[DisturbBriefly[BriefLogFault]]:
    there: PartitionName = _uncompacted(on)
    return one_of(
        *(brief_disturbances(kind, (there,)) for kind in (MoveLeader, PreferredElection, Reassign, RollingRestart)),
        *(brief_disturbances(kind, UNCOMPACTED[:3]) for kind in (RetentionBySize, RetentionByTime, RollBySize)),
    )
