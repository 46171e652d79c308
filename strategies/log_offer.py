"""The offer for the log machine's episodes: its steps, and faults around each of its partitions."""

from hypothesis.strategies import SearchStrategy, booleans, builds, integers, just, lists, none, one_of, sampled_from

from fixtures.faults.kinds import (
    batches,
    clock,
    disk,
    elections,
    files,
    frames,
    full_disk,
    logs,
    network,
    process,
    shapes,
    unclean,
    zombies,
)
from strategies import log as do
from strategies import steps
from strategies.episodes import About, Offer, always, fault_kind

REPLICATED: tuple[do.PartitionName, ...] = ("strict-0", "strict-1", "loose-0", "compacted-0")
"""Partitions that begin with a replica on every broker."""
FIXED: tuple[do.PartitionName, ...] = (*REPLICATED, "lone-0")
"""Partitions that exist from the start."""
DRAWN: tuple[do.PartitionName, ...] = ("drawn-0", "drawn-1")
FLEETING: do.PartitionName = "fleeting-0"
EVERY_PARTITION: tuple[do.PartitionName, ...] = (*FIXED, *DRAWN, FLEETING)
UNCOMPACTED: tuple[do.PartitionName, ...] = ("strict-0", "strict-1", "loose-0", "drawn-0")
UNCLEAN_ON: tuple[do.PartitionName, ...] = ("loose-0",)
ROLES: tuple[do.ReplicaRole, ...] = ("leader", "follower", "former-leader")

_ROLE = sampled_from(ROLES)
_WRITTEN_TO = sampled_from([*3 * ("leader",), *ROLES])
"""The replica to write to, mostly the leader: a log that does not change shows little."""
_BACK = integers(-1, 2)
_MIN_ISR, _UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


def _in_place_of_compacted(on: str) -> do.PartitionName:
    """Return the partition, or `strict-0` instead of the compacted one, whose records need a key."""
    return on if on != "compacted-0" else "strict-0"  # type: ignore[return-value]


# --- producers


def produces(on: str) -> SearchStrategy[do.Produce]:
    """Draw Produce with any acks, mostly to the leader; the largest values exceed a topic's max.message.bytes."""
    return builds(
        do.Produce,
        on=just(on),
        records=integers(1, 4),
        acks=sampled_from([-1, -1, 1, 0]),
        to=_WRITTEN_TO,
        codec=sampled_from(do.CODECS),
        size=sampled_from([0, 0, 400, 900, 1_950, 5_000]),
    )


def produces_to_all() -> SearchStrategy[do.ProduceToAll]:
    """Draw Produce to every partition, with acks=1 or all."""
    return builds(do.ProduceToAll, records=integers(1, 3), acks=sampled_from([-1, 1]), to=_WRITTEN_TO)


def transactions(on: str) -> SearchStrategy[do.Transact]:
    """Draw transactions of one batch, on another partition instead of the compacted one."""
    return builds(
        do.Transact,
        on=just(_in_place_of_compacted(on)),
        records=integers(1, 3),
        end=sampled_from(["commit", "abort", "open"]),
    )


# --- raw fetchers


def reads(on: str) -> SearchStrategy[do.Read]:
    """Draw reads of the full log or up to the high watermark, at an older leader epoch, the next one or none."""
    return builds(do.Read, on=just(on), role=_ROLE, full_log=booleans(), current_back=one_of(_BACK, none()))


def fetches(on: str) -> SearchStrategy[do.FetchAt]:
    """Draw Fetch around the log end, with older, current or future leader epochs."""
    return builds(
        do.FetchAt, on=just(on), role=_ROLE, before_end=integers(-1, 4), last_fetched_back=_BACK, current_back=_BACK
    )


def epoch_requests(on: str) -> SearchStrategy[do.OffsetForLeaderEpoch]:
    """Draw OffsetForLeaderEpoch for the current leader epoch or an earlier one, possibly at another current epoch."""
    return builds(do.OffsetForLeaderEpoch, on=just(on), role=_ROLE, epochs_back=integers(0, 3), current_back=_BACK)


def deletions(on: str) -> SearchStrategy[do.DeleteRecords]:
    """Draw DeleteRecords that keep fewer records than an episode writes, since logs are short."""
    return builds(do.DeleteRecords, on=just(_in_place_of_compacted(on)), keep=sampled_from([2, 0, 1, 3, 5]), to=_ROLE)


# --- administration


def reassignments(on: str) -> SearchStrategy[steps.ReassignPartition]:
    """Draw reassignments. A partition with a replica on every broker has to lose one before it can get another."""
    changes = (
        ["shrink", "shrink", "grow", "swap", "reorder"] if on in REPLICATED else ["grow", "swap", "shrink", "reorder"]
    )
    return builds(
        steps.ReassignPartition,
        on=just(steps.topic_of(on)),
        partition=just(steps.index_of(on)),
        change=sampled_from(changes),
        pick=integers(0, 2),
    )


def cancellations(on: str) -> SearchStrategy[steps.CancelReassignment]:
    return builds(steps.CancelReassignment, on=just(steps.topic_of(on)), partition=just(steps.index_of(on)))


def preferred_elections(on: str) -> SearchStrategy[steps.ElectPreferredLeader]:
    return builds(steps.ElectPreferredLeader, on=just(steps.topic_of(on)), partition=just(steps.index_of(on)))


def unclean_elections(on: str) -> SearchStrategy[steps.ElectUncleanly]:
    return builds(steps.ElectUncleanly, on=just(steps.topic_of(on)), partition=just(steps.index_of(on)))


def alterations(on: str) -> SearchStrategy[steps.AlterConfig]:
    """Draw topic settings that leaders and controllers act on. Only the drawn topic gets a short retention: its
    records may be deleted."""
    values = {
        _MIN_ISR: ["1", "2", "3", None],
        _UNCLEAN: ["true", "false", None],
        "segment.bytes": ["16384", None],
        "max.message.bytes": ["2000", None],
        "flush.messages": ["1", None],
    }
    if steps.topic_of(on) == "drawn":
        values |= {"retention.bytes": ["1", None], "retention.ms": ["1", None]}
    return one_of(
        *(
            builds(steps.AlterConfig, on=just(steps.topic_of(on)), key=just(key), value=sampled_from(drawn))
            for key, drawn in values.items()
        )
    )


def default_alterations(on: str) -> SearchStrategy[steps.AlterClusterDefault]:
    """Draw cluster defaults for unclean elections, but not for min.insync.replicas, which cannot be deleted once
    brokers have eligible leader replicas (KIP-966)."""
    return builds(steps.AlterClusterDefault, key=just(_UNCLEAN), value=sampled_from(["true", "false", None]))


def creations(on: str = "fleeting-0") -> SearchStrategy[steps.CreateTopic]:
    """Draw creations of the fleeting topic, or of the drawn one."""
    return builds(
        steps.CreateTopic,
        on=just(on if on in ("drawn", "fleeting") else "fleeting"),
        partitions=integers(1, 2),
        replication_factor=integers(1, 3),
        configs=_topic_settings(),
    )


def _topic_settings() -> SearchStrategy[dict[str, str]]:
    """Draw a new topic's settings; each may keep the cluster's default."""
    return builds(
        lambda *values: {key: value for key, value in zip(SETTINGS, values, strict=True) if value is not None},
        sampled_from(["2", "1", "3", None]),
        sampled_from([None, "16384"]),
        sampled_from([None, "true", "false"]),
        sampled_from([None, "lz4", "zstd", "gzip"]),
        sampled_from([None, "2000"]),
    )


SETTINGS = (_MIN_ISR, "segment.bytes", _UNCLEAN, "compression.type", "max.message.bytes")


def recreations(on: str) -> SearchStrategy[steps.RecreateTopic]:
    """Draw deletions that create the fleeting topic again under the same name."""
    return builds(
        steps.RecreateTopic,
        on=just("fleeting"),
        partitions=integers(1, 2),
        replication_factor=integers(1, 3),
        configs=_topic_settings(),
    )


def more_partitions(on: str) -> SearchStrategy[steps.AddPartitions]:
    """Draw CreatePartitions for the topics that steps create; refused if the topic has that many or more."""
    return builds(steps.AddPartitions, on=sampled_from(["drawn", "fleeting"]), total=integers(1, 3))


# --- faults


_HIT = sampled_from(["leader", "follower"])
_ANY = sampled_from([*2 * ("leader", "follower"), "active controller", "voter", "group coordinator", "broker"])
"""The role to hit: half of the time the partition's leader or follower, so that faults meet there."""


LINKED = ("follower", "follower", "leader", "active controller")
"""The other end of a severed link: mostly a follower, which fetches from the leader until the leader is lost."""
AROUND: tuple[do.PartitionName, ...] = (*REPLICATED, "drawn-0", "lone-0")
FAULTS = [
    fault_kind(process.Kill, AROUND, role=_ANY),
    fault_kind(process.Stop, AROUND, role=_ANY),
    fault_kind(process.Freeze, AROUND, role=_ANY),
    fault_kind(process.PausePastFencing, AROUND, role=_HIT),
    fault_kind(zombies.PausedZombie, AROUND, role=_HIT),
    # links
    fault_kind(zombies.CutOffFromControllers, AROUND, role=_HIT),
    fault_kind(shapes.Isolate, AROUND, role=_ANY, clients_too=just(False)),
    fault_kind(shapes.OneLink, AROUND, role=_HIT, peer=sampled_from(LINKED)),
    fault_kind(network.Drop, AROUND, role=_HIT, peer=sampled_from(["brokers", "follower", "controllers"])),
    fault_kind(network.Loss, AROUND, role=_HIT, peer=just("brokers")),
    fault_kind(frames.Delay, AROUND, role=_HIT, peer=just("brokers")),
    fault_kind(network.RateLimit, AROUND, role=_HIT, peer=just("brokers"), direction=just("out")),
    fault_kind(zombies.IsolatedControllerLeader, AROUND),
    # disks: the first needs a broker with several log directories, the second a broker with one
    fault_kind(disk.FailedDirectory, AROUND, role=_HIT),
    fault_kind(disk.FailedDisk, AROUND, role=_HIT),
    # These write records to damage, without keys: a compacted topic refuses them.
    fault_kind(batches.CutTailAbove, UNCOMPACTED, role=_HIT),
    fault_kind(batches.CutTailBelow, UNCOMPACTED, role=_HIT),
    fault_kind(files.OldEpochCheckpoint, UNCOMPACTED, role=_HIT),
    fault_kind(files.RemoveEpochCheckpoint, UNCOMPACTED, role=_HIT),
    fault_kind(files.RemoveIndexFiles, UNCOMPACTED, role=_HIT),
    fault_kind(files.RemoveRebuiltFile, UNCOMPACTED, role=_HIT),
    fault_kind(files.RemoveReplica, UNCOMPACTED, role=_HIT),
    fault_kind(files.RemoveWatermarkCheckpoint, UNCOMPACTED, role=_HIT),
    fault_kind(disk.WipeDisk, UNCOMPACTED, role=_HIT),
    # These act on the machine's own partition, which the judges follow.
    fault_kind(unclean.UncleanElection, UNCLEAN_ON, own_topic=just(False)),
    fault_kind(unclean.UncleanElectionByConfig, UNCLEAN_ON, own_topic=just(False)),
    fault_kind(full_disk.FullDisk, UNCOMPACTED, role=_HIT),
    fault_kind(clock.ClockShift, REPLICATED, role=_HIT),
]
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
"""The faults that should meet in pairs on one partition, in either order."""


BRIEF = (elections.MoveLeader, elections.PreferredElection, elections.Reassign, process.RollingRestart)
BRIEF_ON_SEGMENTS = (logs.RetentionBySize, logs.RetentionByTime, logs.RollBySize)


def transient_faults(on: str) -> SearchStrategy[steps.DisturbBriefly]:
    """Draw faults that are healed within the step; retention and small segments only where records may be deleted."""
    there: do.PartitionName = _in_place_of_compacted(on)
    return one_of(
        *(steps.brief_disturbances(kind, (there,)) for kind in BRIEF),
        *(steps.brief_disturbances(kind, UNCOMPACTED[:3]) for kind in BRIEF_ON_SEGMENTS),
    )


# --- the offer


def _first_steps() -> SearchStrategy[list[steps.Step]]:
    """Draw the first steps: the drawn topic, perhaps the fleeting topic, records on every partition, and perhaps
    consumers."""
    consumers: list[list[steps.Step]] = [[], [do.Join(), do.PollGroup()], [do.Consume()], [do.Consume(rack=1)]]
    return builds(
        lambda made, fleeting, written, consuming: [made, *fleeting, written, *consuming],
        creations("drawn"),
        lists(creations(), max_size=1),
        produces_to_all(),
        sampled_from(consumers),
    )


WORK: dict[str, About] = {
    "produce": produces,
    "produce-idempotently": lambda on: builds(
        do.ProduceIdempotently, on=just(on), producer=integers(1, 2), records=integers(1, 3), to=_WRITTEN_TO
    ),
    "produce-in-flight": lambda on: builds(do.ProduceInFlight, on=just(on), records=integers(1, 3), to=_WRITTEN_TO),
    "fetch-in-flight": lambda on: builds(do.FetchInFlight, on=just(on), role=_ROLE),
    "collect": always(do.Collect()),
    "transact": transactions,
    "produce-to-all": lambda on: produces_to_all(),
    "read": reads,
    "fetch-at": fetches,
    "revisit-position": lambda on: builds(do.RevisitPosition, on=just(on), role=_ROLE, back=integers(0, 9)),
    "offset-for-leader-epoch": epoch_requests,
    "list-offsets": lambda on: builds(do.ListOffsets, on=just(on), role=_ROLE, current_back=_BACK),
    "delete-records": deletions,
    "consume": lambda on: builds(do.Consume, rack=sampled_from([None, 1, 2, 3])),
    "join": always(do.Join()),
    "poll-group": always(do.PollGroup()),
    "leave": always(do.Leave()),
    "offset-fetch": always(do.OffsetFetch()),
    "fetch-in-session": lambda on: builds(do.FetchInSession, on=just(on), role=_ROLE, current_back=_BACK),
    "echo": lambda on: steps.echoes(),
    "sweep": lambda on: steps.sweeps(),
    "brief": transient_faults,
}
ADMINISTRATION: dict[str, About] = {
    "reassign-partition": reassignments,
    "cancel-reassignment": cancellations,
    "elect-preferred-leader": preferred_elections,
    "elect-uncleanly": unclean_elections,
    "alter-config": alterations,
    "alter-cluster-default": default_alterations,
    "create-topic": creations,
    "delete-topic": lambda on: just(steps.DeleteTopic(on="fleeting")),
    "recreate-topic": recreations,
    "add-partitions": more_partitions,
}
OFFER = Offer(
    subjects=("strict-0", "drawn-0", "loose-0", "drawn-0", "strict-1", "compacted-0", "drawn-0", "lone-0"),
    begin=_first_steps(),
    faults={one.name: one for one in FAULTS},
    main=MAIN,
    behind=("one-link",),
    losing=("kill", "pause-past-fencing"),
    damaging=("cut-tail-above", "cut-tail-below", "remove-epoch-checkpoint"),
    cutting=("isolate", "cut-off-from-controllers"),
    work=WORK,
    writes=("produce", "produce-idempotently", "produce-in-flight", "transact", "produce-to-all", "delete-records"),
    # Acknowledged records have to survive the leader.
    acknowledged=lambda on: builds(do.Produce, on=just(on), records=integers(1, 2), acks=just(-1)),
    # A former leader that is unaware of its successor appends alone.
    stale=lambda on: builds(do.Produce, on=just(on), records=integers(1, 2), acks=just(1), to=just("former-leader")),
    administration=ADMINISTRATION,
    looks=lambda on: sampled_from([steps.ReadEverything(), do.ProbeLeaders()]),
)
"""All parts of the log machine's episodes."""
