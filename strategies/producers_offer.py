"""The offer for the producer machine's episodes: its steps, and faults around each partition."""

from hypothesis.strategies import (
    DrawFn,
    SearchStrategy,
    booleans,
    builds,
    composite,
    integers,
    just,
    lists,
    none,
    one_of,
    sampled_from,
)

from fixtures.faults.kinds import (
    elections,
    files,
    logs,
    network,
    process,
    producers,
    shapes,
    unclean,
    upgrade,
    zombies,
)
from strategies import producers as do
from strategies import steps
from strategies.episodes import About, Offer, always, fault_kind

STRICT: tuple[do.WrittenPartition, ...] = ("strict-0", "strict-1", "strict-2")
EVERY_PARTITION: tuple[do.WrittenPartition, ...] = (*STRICT, "loose-0")
ROLES: tuple[do.ReplicaRole, ...] = ("leader", "leader", "leader", "former-leader", "follower")

_ROLE = sampled_from(ROLES)
MOSTLY: tuple[do.ProducerName, ...] = ("tv2-1", "legacy-1", "tv2-1", "legacy-1", *do.TRANSACTIONAL)
"""Producers, mostly two of the transactional ids, so that steps often continue an earlier transaction."""
RARELY_USED: tuple[do.ProducerName, ...] = ("tv2-2", "legacy-2")
LAST_EPOCH = 32_766
"""The last epoch of a transactional producer id, followed by a new id at epoch 0; idempotent producers have one
more."""
NEAR = 3
"""The largest distance from the last epoch, in epochs, of an example that begins near it."""
NEAR_THE_END = 20
"""One in this many examples begins near a producer id's last epoch: one request per epoch takes a minute."""
SHORT_TIMEOUT_MS = 2_000
"""Some transactions' timeout in ms: most faults last longer."""
_TRANSACTIONAL: SearchStrategy[do.ProducerName] = sampled_from(MOSTLY)
_PYTHON: SearchStrategy[do.PythonProducerName] = sampled_from(
    [do.PYTHON_TRANSACTIONAL, do.PYTHON_TRANSACTIONAL, do.PYTHON_PLAIN]
)
_ANY: SearchStrategy[do.ProducerName] = sampled_from((*MOSTLY, *do.PLAIN))


# --- producers


def writes(on: str) -> SearchStrategy[do.Write]:
    """Draw writes of any producer, mostly to the leader."""
    return builds(do.Write, on=just(on), producer=_ANY, records=integers(1, 3), to=_ROLE)


def acknowledged_writes(on: str) -> SearchStrategy[do.Write]:
    """Draw writes to the leader that all in-sync replicas acknowledge."""
    return builds(do.Write, on=just(on), producer=_ANY, records=integers(1, 2))


def stale_writes(on: str) -> SearchStrategy[do.Write]:
    """Draw writes to the former leader, which may be unaware of its successor."""
    return builds(do.Write, on=just(on), producer=_ANY, records=integers(1, 2), to=just("former-leader"))


def transactional_writes(on: str) -> SearchStrategy[do.Write]:
    """Draw writes of transactional producers to the leader."""
    return builds(do.Write, on=just(on), producer=_TRANSACTIONAL, records=integers(1, 3))


def writes_in_flight(on: str) -> SearchStrategy[do.WriteInFlight]:
    return builds(do.WriteInFlight, on=just(on), producer=_ANY, batches=integers(1, 5))


def writes_to_several(on: str) -> SearchStrategy[do.WriteToSeveral]:
    return builds(do.WriteToSeveral, on=just(on), producer=_ANY, records=integers(1, 2))


def skipped_sequences(on: str) -> SearchStrategy[do.SkipSequence]:
    """Draw batches of any producer with a sequence up to 3 too high, to be refused."""
    return builds(do.SkipSequence, on=just(on), producer=_ANY, gap=integers(1, 3))


def repeated_batches(on: str) -> SearchStrategy[do.RepeatBatch]:
    """Draw acknowledged batches to be sent again; brokers know a producer's last five."""
    return builds(do.RepeatBatch, on=just(on), producer=_ANY, back=integers(0, 6))


def new_instances(on: str) -> SearchStrategy[do.InitProducerId]:
    """Draw InitProducerId of new instances, some with a transaction timeout shorter than most faults."""
    return builds(do.InitProducerId, producer=_ANY, timeout_ms=sampled_from([60_000, 60_000, SHORT_TIMEOUT_MS]))


def own_raises(on: str) -> SearchStrategy[do.RaiseEpoch]:
    """Draw epoch bumps to around the last epoch for idempotent producers, which need no request for them."""
    return builds(do.RaiseEpoch, producer=sampled_from(do.PLAIN), to=integers(LAST_EPOCH - 1, LAST_EPOCH + 1))


def outlasted_timeouts(on: str) -> SearchStrategy[do.OutlastTimeout]:
    return builds(do.OutlastTimeout, producer=_TRANSACTIONAL)


def ends(on: str) -> SearchStrategy[do.EndTransaction]:
    return builds(do.EndTransaction, producer=_TRANSACTIONAL, commit=booleans())


def ends_without_transaction(on: str) -> SearchStrategy[do.EndNothing]:
    """Draw EndTxn without an open transaction."""
    return builds(do.EndNothing, producer=_TRANSACTIONAL, commit=booleans())


def offset_commits(on: str) -> SearchStrategy[do.CommitOffset]:
    """Draw TxnOffsetCommit, mostly after AddOffsetsToTxn; some in the first protocol without it, to be refused."""
    unadded = builds(do.CommitOffset, producer=sampled_from(["legacy-1", "legacy-1", "legacy-2"]), unadded=just(True))
    added = builds(do.CommitOffset, producer=_TRANSACTIONAL)
    return one_of(added, added, added, unadded)


def fenced_requests(on: str) -> SearchStrategy[do.SendAsFenced]:
    """Draw requests of fenced instances, of each kind; mostly writes and commits."""
    return builds(
        do.SendAsFenced,
        on=just(on),
        producer=_TRANSACTIONAL,
        request=sampled_from((*do.FENCED_REQUESTS, "produce", "commit", "produce")),
    )


def fenced_writes(on: str) -> SearchStrategy[do.SendAsFenced]:
    """Draw writes of fenced instances. Every other one is an idempotent producer's, which only a leader that has seen
    its newer epoch can fence: no coordinator verifies it."""
    compared = builds(do.SendAsFenced, on=just(on), producer=sampled_from(do.PLAIN), seen=just(True))
    return one_of(compared, builds(do.SendAsFenced, on=just(on), producer=_ANY, seen=booleans()))


def python_writes(on: str) -> SearchStrategy[do.PythonWrite]:
    return builds(do.PythonWrite, on=just(on), producer=_PYTHON, records=integers(1, 3))


def python_steps(on: str) -> SearchStrategy[steps.Step]:
    """Draw steps of any kind of kafka-python's producers, so that they often continue a transaction."""
    ends = builds(do.PythonEnd, commit=sampled_from([True, True, False]))
    flushes, reopenings = (builds(kind, producer=_PYTHON) for kind in (do.PythonFlush, do.PythonReopen))
    return one_of(python_writes(on), python_writes(on), ends, flushes, just(do.PythonCommitOffset()), reopenings)


def committed_fetches(on: str) -> SearchStrategy[do.FetchCommitted]:
    """Draw Fetch with read_committed, from the log start or near the log end."""
    return builds(do.FetchCommitted, on=just(on), role=_ROLE, back=one_of(none(), integers(0, 6)))


def deletions(on: str) -> SearchStrategy[do.DeleteRecords]:
    """Draw DeleteRecords that keeps at most a few records."""
    return builds(do.DeleteRecords, on=just(on), keep=sampled_from([2, 0, 1, 3, 5]))


# --- administration


def reassignments(on: str) -> SearchStrategy[steps.ReassignPartition]:
    changes = sampled_from(["reorder", "shrink", "grow", "reorder"])
    return builds(
        steps.ReassignPartition,
        on=just(steps.topic_of(on)),
        partition=just(steps.index_of(on)),
        change=changes,
        pick=integers(0, 2),
    )


def cancellations(on: str) -> SearchStrategy[steps.CancelReassignment]:
    return just(steps.CancelReassignment(on=steps.topic_of(on), partition=steps.index_of(on)))


def preferred_elections(on: str) -> SearchStrategy[steps.ElectPreferredLeader]:
    return just(steps.ElectPreferredLeader(on=steps.topic_of(on), partition=steps.index_of(on)))


# --- faults

_HIT = sampled_from(["leader", "follower"])
_NODE = sampled_from(["leader", "transaction coordinator", "follower", "transaction coordinator", "group coordinator"])
"""The role to hit: mostly a coordinator, which leads a partition of an internal topic."""
LINKED = ("follower", "leader", "active controller")


FAULTS = [
    fault_kind(process.Kill, EVERY_PARTITION, role=_NODE),
    fault_kind(process.Stop, EVERY_PARTITION, role=_NODE),
    fault_kind(process.Freeze, EVERY_PARTITION, role=_NODE),
    fault_kind(process.PausePastFencing, EVERY_PARTITION, role=_HIT),
    fault_kind(zombies.PausedZombie, EVERY_PARTITION, role=_HIT),
    fault_kind(zombies.CutOffFromControllers, EVERY_PARTITION, role=_HIT),
    fault_kind(shapes.Isolate, EVERY_PARTITION, role=_HIT, clients_too=just(False)),
    fault_kind(shapes.OneLink, EVERY_PARTITION, role=_HIT, peer=sampled_from(LINKED)),
    fault_kind(network.Drop, EVERY_PARTITION, role=_HIT, peer=sampled_from(["brokers", "controllers"])),
    fault_kind(network.Loss, EVERY_PARTITION, role=_HIT, peer=just("brokers")),
    fault_kind(files.RemoveRebuiltFile, STRICT, role=_HIT),
    fault_kind(upgrade.Upgrade, STRICT, role=_NODE),
    fault_kind(unclean.UncleanElection, ("loose-0",), own_topic=just(False)),
]
MAIN = ("kill", "stop", "pause-past-fencing", "cut-off-from-controllers", "isolate", "one-link", "drop", "freeze")
"""The faults that should meet in pairs on one partition, in either order."""


BRIEF = (
    elections.MoveLeader,
    elections.PreferredElection,
    logs.RollBySize,
    logs.RetentionBySize,
    process.RollingRestart,
)


def brief_faults(on: str) -> SearchStrategy[steps.DisturbBriefly]:
    """Draw faults that are healed within the step: leaders and coordinators move, brokers forget producers or restart
    in turn, segments are rolled or deleted."""
    there = (on,)
    coordinators = sampled_from(["transaction coordinator", "transaction coordinator", "group coordinator"])
    return one_of(
        steps.brief_disturbances(elections.MoveCoordinator, there, role=coordinators),
        steps.brief_disturbances(producers.ForgetProducers, there, own_producer=just(False)),
        *(steps.brief_disturbances(kind, there) for kind in BRIEF),
    )


# --- scenes

COORDINATOR = "transaction coordinator"


@composite
def decided_scenes(draw: DrawFn, on: str) -> list[steps.Step]:
    """Draw scenes of a decided transaction whose markers do not reach a leader; then its coordinator is lost, and
    another one loads the transaction as prepared.

    In two of three the coordinator does not lead the partition itself, so that there is a link between the two to
    sever.
    """
    producer: do.ProducerName = draw(sampled_from(["tv2-1", "tv2-1", "legacy-1"]))
    beside = draw(sampled_from([one for one in STRICT if one != on]))
    written = [draw(builds(do.Write, on=just(one), producer=just(producer))) for one in (on, beside)]
    commit = draw(sampled_from([True, True, False]))
    lost = draw(sampled_from([process.Stop(role=COORDINATOR), process.Kill(role=COORDINATOR)]))
    return [
        *written,
        steps.Disturb(on=on, fault=shapes.OneLink(role="leader", peer=COORDINATOR)),
        do.EndTransaction(producer=producer, commit=commit),
        steps.Disturb(on=on, fault=lost),
        do.Describe(),
        *draw(lists(_requests_after_end(on, producer, commit=commit), min_size=1, max_size=3)),
        steps.Heal(),
    ]


def _requests_after_end(on: str, producer: do.ProducerName, *, commit: bool) -> SearchStrategy[steps.Step]:
    """Draw requests that follow a transaction's end, including EndTxn with the other outcome."""
    written = builds(do.Write, on=just(on), producer=just(producer))
    asked: list[steps.Step] = [
        do.EndNothing(producer=producer, commit=not commit),
        do.InitProducerId(producer=producer),
        do.BumpEpoch(producer=producer),
        do.CommitOffset(producer=producer),
        do.EndTransaction(producer=producer, commit=not commit),
    ]
    return one_of(sampled_from(asked), sampled_from(asked), written)


# --- the offer


def _first_steps() -> SearchStrategy[list[steps.Step]]:
    """Draw the first steps: a write of one producer, mostly in an open transaction, and up to two other writes; rarely
    near the last epoch of a producer id."""
    first = builds(do.Write, on=sampled_from(STRICT), producer=_TRANSACTIONAL, records=integers(1, 3))
    more = lists(builds(do.Write, on=sampled_from(EVERY_PARTITION), producer=_ANY), max_size=2)
    usual: SearchStrategy[list[steps.Step]] = builds(lambda one, others: [one, *others], first, more)
    near = builds(lambda raised, others: [raised, *others], _bumps_near_end(), usual)
    return sampled_from([*[usual] * (NEAR_THE_END - 1), near]).flatmap(lambda chosen: chosen)


def _bumps_near_end() -> SearchStrategy[do.RaiseEpoch]:
    """Draw epoch bumps of the mostly used ids: a few ends or new instances later they get a new producer id."""
    return builds(
        do.RaiseEpoch, producer=sampled_from(["tv2-1", "legacy-1"]), to=integers(LAST_EPOCH - NEAR, LAST_EPOCH)
    )


def fenced_bumps(on: str) -> SearchStrategy[do.BumpAsFenced]:
    """Draw epoch bumps of rarely used ids' fenced instances, after which judges can say little about transactions."""
    return builds(do.BumpAsFenced, producer=sampled_from(RARELY_USED))


WORK: dict[str, About] = {
    "write": writes,
    "transactional-write": transactional_writes,
    "write-in-flight": writes_in_flight,
    "write-to-several": writes_to_several,
    "collect": always(do.Collect()),
    "skip-sequence": skipped_sequences,
    "repeat-batch": repeated_batches,
    "init-producer-id": new_instances,
    "outlast-timeout": outlasted_timeouts,
    "bump-epoch": lambda on: builds(do.BumpEpoch, producer=_ANY),
    "raise-epoch": own_raises,
    "bump-as-fenced": fenced_bumps,
    "commit-offset": offset_commits,
    "end-transaction": ends,
    "end-nothing": ends_without_transaction,
    "send-as-fenced": fenced_requests,
    "write-as-fenced": fenced_writes,
    "python-write": python_writes,
    "python": python_steps,
    "fetch-committed": committed_fetches,
    "describe": always(do.Describe()),
    "delete-records": deletions,
    "echo": lambda on: steps.echoes(),
    "sweep": lambda on: steps.sweeps(),
    "brief": brief_faults,
}
OFFER = Offer(
    subjects=("strict-0", "strict-1", "strict-0", "strict-2", "strict-1", "strict-2", "loose-0"),
    begin=_first_steps(),
    faults={one.name: one for one in FAULTS},
    main=MAIN,
    behind=("one-link",),
    losing=("kill", "pause-past-fencing"),
    damaging=("remove-rebuilt-file",),
    cutting=("isolate", "cut-off-from-controllers"),
    work=WORK,
    writes=(
        "write",
        "transactional-write",
        "write-in-flight",
        "write-to-several",
        "python-write",
        "commit-offset",
        "end-transaction",
    ),
    acknowledged=acknowledged_writes,
    stale=stale_writes,
    administration={
        "reassign-partition": reassignments,
        "cancel-reassignment": cancellations,
        "elect-preferred-leader": preferred_elections,
    },
    looks=lambda on: sampled_from([steps.ReadEverything(), do.Describe()]),
    scenes={"decided": decided_scenes},
)
"""All parts of the producer machine's episodes."""
