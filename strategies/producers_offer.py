"""The offer that the episodes of the producer machine are drawn from: its steps, and faults around each partition."""

from __future__ import annotations

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

from fixtures.faults.kinds.disk import RemoveRebuiltFile
from fixtures.faults.kinds.elections import MoveCoordinator, MoveLeader, PreferredElection
from fixtures.faults.kinds.logs import RetentionBySize, RollBySize
from fixtures.faults.kinds.network import Drop, Loss
from fixtures.faults.kinds.process import Freeze, Kill, PausePastFencing, RollingRestart, Stop
from fixtures.faults.kinds.producers import ForgetProducers
from fixtures.faults.kinds.shapes import Isolate, OneLink
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.faults.kinds.upgrade import Upgrade
from fixtures.faults.kinds.zombies import CutOffFromControllers, PausedZombie
from strategies.episodes import FaultKind, Offer, always, offered
from strategies.faults import faults_of
from strategies.producers import (
    FENCED_REQUESTS,
    PLAIN,
    PYTHON_PLAIN,
    PYTHON_TRANSACTIONAL,
    TRANSACTIONAL,
    BriefProducerFault,
    BumpAsFenced,
    BumpEpoch,
    Collect,
    CommitOffset,
    DeleteRecords,
    Describe,
    EndNothing,
    EndTransaction,
    FetchCommitted,
    InitProducerId,
    OutlastTimeout,
    ProducerName,
    PythonCommitOffset,
    PythonEnd,
    PythonFlush,
    PythonProducerName,
    PythonReopen,
    PythonWrite,
    RaiseEpoch,
    RepeatBatch,
    ReplicaRole,
    SendAsFenced,
    SkipSequence,
    Write,
    WriteInFlight,
    WriteToSeveral,
    WrittenPartition,
)
from strategies.steps import (
    CancelReassignment,
    Disturb,
    DisturbBriefly,
    ElectPreferredLeader,
    Heal,
    ReadEverything,
    ReassignPartition,
    Step,
    brief_disturbances,
    echoes,
    index_of,
    sweeps,
    topic_of,
)

STRICT: tuple[WrittenPartition, ...] = ("strict-0", "strict-1", "strict-2")
EVERY_PARTITION: tuple[WrittenPartition, ...] = (*STRICT, "loose-0")
ROLES: tuple[ReplicaRole, ...] = ("leader", "leader", "leader", "former-leader", "follower")

_ROLE = sampled_from(ROLES)
MOSTLY: tuple[ProducerName, ...] = ("tv2-1", "legacy-1", "tv2-1", "legacy-1", *TRANSACTIONAL)
"""Two of the transactional ids mostly, so that the requests of a transaction find each other."""
RARELY_USED: tuple[ProducerName, ...] = ("tv2-2", "legacy-2")
LAST_EPOCH = 32_766
"""The highest epoch of a transactional id: 0 of another producer id follows. An idempotent producer may go one further."""
NEAR = 3
"""Epochs before the last one that count as near."""
NEAR_THE_END = 20
"""Of this many examples one begins near the end of a producer id's epochs, which takes a request for each epoch: a minute."""
SHORT_TIMEOUT_MS = 2_000
"""The time-out of some transactions: most faults outlast it."""
_TRANSACTIONAL: SearchStrategy[ProducerName] = sampled_from(MOSTLY)
_PYTHON: SearchStrategy[PythonProducerName] = sampled_from([PYTHON_TRANSACTIONAL, PYTHON_TRANSACTIONAL, PYTHON_PLAIN])
_ANY: SearchStrategy[ProducerName] = sampled_from((*MOSTLY, *PLAIN))


# --- producers


def writes(on: str) -> SearchStrategy[Write]:
    return builds(Write, on=just(on), producer=_ANY, records=integers(1, 3), to=_ROLE)


def acknowledged_writes(on: str) -> SearchStrategy[Write]:
    return builds(Write, on=just(on), producer=_ANY, records=integers(1, 2))


def stale_writes(on: str) -> SearchStrategy[Write]:
    return builds(Write, on=just(on), producer=_ANY, records=integers(1, 2), to=just("former-leader"))


def transactional_writes(on: str) -> SearchStrategy[Write]:
    return builds(Write, on=just(on), producer=_TRANSACTIONAL, records=integers(1, 3))


def writes_in_flight(on: str) -> SearchStrategy[WriteInFlight]:
    return builds(WriteInFlight, on=just(on), producer=_ANY, batches=integers(1, 5))


def writes_to_several(on: str) -> SearchStrategy[WriteToSeveral]:
    return builds(WriteToSeveral, on=just(on), producer=_ANY, records=integers(1, 2))


def skipped_sequences(on: str) -> SearchStrategy[SkipSequence]:
    return builds(SkipSequence, on=just(on), producer=_ANY, gap=integers(1, 3))


def repeated_batches(on: str) -> SearchStrategy[RepeatBatch]:
    return builds(RepeatBatch, on=just(on), producer=_ANY, back=integers(0, 6))


def new_instances(on: str) -> SearchStrategy[InitProducerId]:
    return builds(InitProducerId, producer=_ANY, timeout_ms=sampled_from([60_000, 60_000, SHORT_TIMEOUT_MS]))


def own_raises(on: str) -> SearchStrategy[RaiseEpoch]:
    """Of idempotent producers, which need no request for it."""
    return builds(RaiseEpoch, producer=sampled_from(PLAIN), to=integers(LAST_EPOCH - 1, LAST_EPOCH + 1))


def outlasted_timeouts(on: str) -> SearchStrategy[OutlastTimeout]:
    return builds(OutlastTimeout, producer=_TRANSACTIONAL)


def ends(on: str) -> SearchStrategy[EndTransaction]:
    return builds(EndTransaction, producer=_TRANSACTIONAL, commit=booleans())


def ends_of_nothing(on: str) -> SearchStrategy[EndNothing]:
    return builds(EndNothing, producer=_TRANSACTIONAL, commit=booleans())


def offset_commits(on: str) -> SearchStrategy[CommitOffset]:
    unadded = builds(CommitOffset, producer=sampled_from(["legacy-1", "legacy-1", "legacy-2"]), unadded=just(True))
    added = builds(CommitOffset, producer=_TRANSACTIONAL)
    return one_of(added, added, added, unadded)


def fenced_requests(on: str) -> SearchStrategy[SendAsFenced]:
    return builds(
        SendAsFenced,
        on=just(on),
        producer=_TRANSACTIONAL,
        request=sampled_from((*FENCED_REQUESTS, "produce", "commit", "produce")),
    )


def fenced_writes(on: str) -> SearchStrategy[SendAsFenced]:
    """Every other one goes by what its leader has seen alone: no coordinator verifies a producer without transactional id."""
    compared = builds(SendAsFenced, on=just(on), producer=sampled_from(PLAIN), seen=just(True))
    return one_of(compared, builds(SendAsFenced, on=just(on), producer=_ANY, seen=booleans()))


def python_writes(on: str) -> SearchStrategy[PythonWrite]:
    return builds(PythonWrite, on=just(on), producer=_PYTHON, records=integers(1, 3))


def python_steps(on: str) -> SearchStrategy[Step]:
    """All of kafka-python's producers, so that the steps of a transaction find each other."""
    ends = builds(PythonEnd, commit=sampled_from([True, True, False]))
    flushes, reopenings = (builds(kind, producer=_PYTHON) for kind in (PythonFlush, PythonReopen))
    return one_of(python_writes(on), python_writes(on), ends, flushes, just(PythonCommitOffset()), reopenings)


def committed_fetches(on: str) -> SearchStrategy[FetchCommitted]:
    return builds(FetchCommitted, on=just(on), role=_ROLE, back=one_of(none(), integers(0, 6)))


def deletions(on: str) -> SearchStrategy[DeleteRecords]:
    return builds(DeleteRecords, on=just(on), keep=sampled_from([2, 0, 1, 3, 5]))


# --- administration


def reassignments(on: str) -> SearchStrategy[ReassignPartition]:
    changes = sampled_from(["reorder", "shrink", "grow", "reorder"])
    return builds(
        ReassignPartition, on=just(topic_of(on)), partition=just(index_of(on)), change=changes, pick=integers(0, 2)
    )


def cancellations(on: str) -> SearchStrategy[CancelReassignment]:
    return just(CancelReassignment(on=topic_of(on), partition=index_of(on)))


def preferred_elections(on: str) -> SearchStrategy[ElectPreferredLeader]:
    return just(ElectPreferredLeader(on=topic_of(on), partition=index_of(on)))


# --- faults

_HIT = sampled_from(["leader", "follower"])
_NODE = sampled_from(["leader", "transaction coordinator", "follower", "transaction coordinator", "group coordinator"])
"""Half of the time a coordinator, which leads a partition of an internal topic."""
LINKED = ("follower", "leader", "active controller")


def _offered() -> dict[str, FaultKind]:
    processes = [
        offered(Kill, faults_of(Kill, role=_NODE), EVERY_PARTITION),
        offered(Stop, faults_of(Stop, role=_NODE), EVERY_PARTITION),
        offered(Freeze, faults_of(Freeze, role=_NODE), EVERY_PARTITION),
        offered(PausePastFencing, faults_of(PausePastFencing, role=_HIT), EVERY_PARTITION),
        offered(PausedZombie, faults_of(PausedZombie, role=_HIT), EVERY_PARTITION),
    ]
    links = [
        offered(CutOffFromControllers, faults_of(CutOffFromControllers, role=_HIT), EVERY_PARTITION),
        offered(Isolate, faults_of(Isolate, role=_HIT, clients_too=just(False)), EVERY_PARTITION),
        offered(OneLink, faults_of(OneLink, role=_HIT, peer=sampled_from(LINKED)), EVERY_PARTITION),
        offered(Drop, faults_of(Drop, role=_HIT, peer=sampled_from(["brokers", "controllers"])), EVERY_PARTITION),
        offered(Loss, faults_of(Loss, role=_HIT, peer=just("brokers")), EVERY_PARTITION),
    ]
    others = [
        offered(RemoveRebuiltFile, faults_of(RemoveRebuiltFile, role=_HIT), STRICT),
        offered(Upgrade, faults_of(Upgrade, role=_NODE), STRICT),
        offered(UncleanElection, faults_of(UncleanElection, own_topic=just(False)), ("loose-0",)),
    ]
    return dict([*processes, *links, *others])


MAIN = ("kill", "stop", "pause-past-fencing", "cut-off-from-controllers", "isolate", "one-link", "drop", "freeze")
"""The faults each pair of which is to meet on one partition, in either order."""


def brief_faults(on: str) -> SearchStrategy[DisturbBriefly[BriefProducerFault]]:
    there = (on,)
    coordinators = sampled_from(["transaction coordinator", "transaction coordinator", "group coordinator"])
    kinds = (MoveLeader, PreferredElection, RollBySize, RetentionBySize, RollingRestart)
    return one_of(
        brief_disturbances(MoveCoordinator, there, role=coordinators),
        brief_disturbances(ForgetProducers, there, own_producer=just(False)),
        *(brief_disturbances(kind, there) for kind in kinds),
    )


# --- scenes

COORDINATOR = "transaction coordinator"


@composite
def decided_scenes(draw: DrawFn, on: str) -> list[Step]:
    """A decided transaction whose markers do not reach a leader; then its coordinator is lost, and another loads it prepared.

    Two times of three the coordinator does not lead the partition itself, so that there is a link between them to be cut.
    """
    producer: ProducerName = draw(sampled_from(["tv2-1", "tv2-1", "legacy-1"]))
    beside = draw(sampled_from([one for one in STRICT if one != on]))
    written = [draw(builds(Write, on=just(one), producer=just(producer))) for one in (on, beside)]
    commit = draw(sampled_from([True, True, False]))
    lost = draw(sampled_from([Stop(role=COORDINATOR), Kill(role=COORDINATOR)]))
    return [
        *written,
        Disturb(on=on, fault=OneLink(role="leader", peer=COORDINATOR)),
        EndTransaction(producer=producer, commit=commit),
        Disturb(on=on, fault=lost),
        Describe(),
        *draw(lists(_after_the_end(on, producer, commit=commit), min_size=1, max_size=3)),
        Heal(),
    ]


def _after_the_end(on: str, producer: ProducerName, *, commit: bool) -> SearchStrategy[Step]:
    """Requests that go on after it, and those for the other outcome."""
    written = builds(Write, on=just(on), producer=just(producer))
    asked: list[Step] = [
        EndNothing(producer=producer, commit=not commit),
        InitProducerId(producer=producer),
        BumpEpoch(producer=producer),
        CommitOffset(producer=producer),
        EndTransaction(producer=producer, commit=not commit),
    ]
    return one_of(sampled_from(asked), sampled_from(asked), written)


# --- the offer


def _begin() -> SearchStrategy[list[Step]]:
    """A producer or two with something written, mostly in an open transaction; rarely near the end of a producer id's epochs."""
    first = builds(Write, on=sampled_from(STRICT), producer=_TRANSACTIONAL, records=integers(1, 3))
    more = lists(builds(Write, on=sampled_from(EVERY_PARTITION), producer=_ANY), max_size=2)
    usual: SearchStrategy[list[Step]] = builds(lambda one, others: [one, *others], first, more)
    near = builds(lambda raised, others: [raised, *others], _near_the_end(), usual)
    return sampled_from([*[usual] * (NEAR_THE_END - 1), near]).flatmap(lambda chosen: chosen)


def _near_the_end() -> SearchStrategy[RaiseEpoch]:
    """Of the transactional ids that are used mostly: a few ends or new instances later another producer id is due."""
    return builds(RaiseEpoch, producer=sampled_from(["tv2-1", "legacy-1"]), to=integers(LAST_EPOCH - NEAR, LAST_EPOCH))


def fenced_bumps(on: str) -> SearchStrategy[BumpAsFenced]:
    """Of ids that are rarely used: what a fenced producer's bump does to its transaction leaves judges little to say."""
    return builds(BumpAsFenced, producer=sampled_from(RARELY_USED))


def producers_offer() -> Offer:
    """All that episodes of the producer machine are made of."""
    return Offer(
        subjects=("strict-0", "strict-1", "strict-0", "strict-2", "strict-1", "strict-2", "loose-0"),
        begin=_begin(),
        faults=_offered(),
        main=MAIN,
        behind=("one-link",),
        losing=("kill", "pause-past-fencing"),
        damaging=("remove-rebuilt-file",),
        cutting=("isolate", "cut-off-from-controllers"),
        work={
            "write": writes,
            "transactional-write": transactional_writes,
            "write-in-flight": writes_in_flight,
            "write-to-several": writes_to_several,
            "collect": always(Collect()),
            "skip-sequence": skipped_sequences,
            "repeat-batch": repeated_batches,
            "init-producer-id": new_instances,
            "outlast-timeout": outlasted_timeouts,
            "bump-epoch": lambda on: builds(BumpEpoch, producer=_ANY),
            "raise-epoch": own_raises,
            "bump-as-fenced": fenced_bumps,
            "commit-offset": offset_commits,
            "end-transaction": ends,
            "end-nothing": ends_of_nothing,
            "send-as-fenced": fenced_requests,
            "write-as-fenced": fenced_writes,
            "python-write": python_writes,
            "python": python_steps,
            "fetch-committed": committed_fetches,
            "describe": always(Describe()),
            "delete-records": deletions,
            "echo": lambda on: echoes(),
            "sweep": lambda on: sweeps(),
            "brief": brief_faults,
        },
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
        looks=lambda on: sampled_from([ReadEverything(), Describe()]),
        scenes={"decided": decided_scenes},
    )
