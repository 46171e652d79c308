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


def ends(on: str) -> SearchStrategy[do.EndTransaction]:
    return builds(do.EndTransaction, producer=_TRANSACTIONAL, commit=booleans())


def offset_commits(on: str) -> SearchStrategy[do.CommitOffset]:
    """Draw TxnOffsetCommit, mostly after AddOffsetsToTxn; some in the first protocol without it, to be refused."""
    unadded = builds(do.CommitOffset, producer=sampled_from(["legacy-1", "legacy-1", "legacy-2"]), unadded=just(True))
    added = builds(do.CommitOffset, producer=_TRANSACTIONAL)
    return one_of(added, added, added, unadded)


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


WORK: dict[str, About] = {
    "write": writes,
    "transactional-write": lambda on: builds(do.Write, on=just(on), producer=_TRANSACTIONAL, records=integers(1, 3)),
    "write-in-flight": lambda on: builds(do.WriteInFlight, on=just(on), producer=_ANY, batches=integers(1, 5)),
    "write-to-several": lambda on: builds(do.WriteToSeveral, on=just(on), producer=_ANY, records=integers(1, 2)),
    "collect": always(do.Collect()),
    "skip-sequence": lambda on: builds(do.SkipSequence, on=just(on), producer=_ANY, gap=integers(1, 3)),
    # Brokers know the last five batches of a producer.
    "repeat-batch": lambda on: builds(do.RepeatBatch, on=just(on), producer=_ANY, back=integers(0, 6)),
    "init-producer-id": lambda on: builds(
        do.InitProducerId, producer=_ANY, timeout_ms=sampled_from([60_000, 60_000, SHORT_TIMEOUT_MS])
    ),
    "outlast-timeout": lambda on: builds(do.OutlastTimeout, producer=_TRANSACTIONAL),
    "bump-epoch": lambda on: builds(do.BumpEpoch, producer=_ANY),
    # Idempotent producers raise their epoch without a request.
    "raise-epoch": lambda on: builds(
        do.RaiseEpoch, producer=sampled_from(do.PLAIN), to=integers(LAST_EPOCH - 1, LAST_EPOCH + 1)
    ),
    # Rarely used ids only: judges can say little about the transactions that follow.
    "bump-as-fenced": lambda on: builds(do.BumpAsFenced, producer=sampled_from(RARELY_USED)),
    "commit-offset": offset_commits,
    "end-transaction": ends,
    "end-nothing": lambda on: builds(do.EndNothing, producer=_TRANSACTIONAL, commit=booleans()),
    "send-as-fenced": lambda on: builds(
        do.SendAsFenced,
        on=just(on),
        producer=_TRANSACTIONAL,
        request=sampled_from((*do.FENCED_REQUESTS, "produce", "commit", "produce")),
    ),
    "write-as-fenced": fenced_writes,
    "python-write": python_writes,
    "python": python_steps,
    "fetch-committed": lambda on: builds(
        do.FetchCommitted, on=just(on), role=_ROLE, back=one_of(none(), integers(0, 6))
    ),
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
    acknowledged=lambda on: builds(do.Write, on=just(on), producer=_ANY, records=integers(1, 2)),
    # The former leader may be unaware of its successor.
    stale=lambda on: builds(do.Write, on=just(on), producer=_ANY, records=integers(1, 2), to=just("former-leader")),
    administration={
        "reassign-partition": reassignments,
        "cancel-reassignment": lambda on: just(
            steps.CancelReassignment(on=steps.topic_of(on), partition=steps.index_of(on))
        ),
        "elect-preferred-leader": lambda on: just(
            steps.ElectPreferredLeader(on=steps.topic_of(on), partition=steps.index_of(on))
        ),
    },
    looks=lambda on: sampled_from([steps.ReadEverything(), do.Describe()]),
    scenes={"decided": decided_scenes},
)
"""All parts of the producer machine's episodes."""
