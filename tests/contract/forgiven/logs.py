"""The log of a partition: who wrote it, what moved it, and replicas that lost some of it."""

from __future__ import annotations

import msgspec

from conformance.judging.excuses import (
    APPENDED_BY_FAULT,
    BYTES_FLIPPED,
    COMPACTED,
    DAMAGED_REPLICA,
    DELETED_BY_SETTING,
    DISK_REPLACED,
    EPOCH_CACHE_LOST,
    EPOCHS_LOST,
    MIN_ISR_ALTERED,
    MOVED_BY_FAULT,
    NOT_AT_REST,
    PRODUCER_STATE_DELETED,
    PRODUCER_STATE_EXPIRED,
    PRODUCER_STATE_LOST,
    REASSIGNED,
    REGISTERED_AGAIN,
    SENT_AS_BYTES,
    WRITTEN_BEFORE,
    WRITTEN_BY_CLUSTER,
)
from conformance.judging.log.settings import SETTLED_AFTER
from conformance.judging.timeline import CLEANUP_POLICY, MIN_ISR, RETENTION_MS
from history.effects import Effects
from history.events import AnyEvent, History
from protocol.codes import Error
from protocol.messages import Topic
from tests.contract.forgiven.entry import Forgiven
from tests.support.histories import TOPIC, LogHistory, Producer, held_on_disk, stamped

A, B, FORGED = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "forged")
FLIPPED = msgspec.structs.replace(B, crc_valid=False)
OURS, OTHER = "topic-0", "other-0"
OWN, BUILT_IN = 1, 5
"""ConfigSources: of the topic itself, and of what a broker takes where nothing is set."""
FOR_GOOD = "what it did to the log stays so"
WIPED = Effects(process="down", abrupt=True, disk=("log-dir",), every_partition=True)


def _begun(**configs: str) -> LogHistory:
    return LogHistory().created(**configs).settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1)


def _forged(history: LogHistory) -> History:
    """A record is read that no request of the history sent."""
    return history.whole(1, A, B, FORGED, epoch=0, hw=3).history


# --- who wrote it


def _continued() -> LogHistory:
    """Another example created the topic."""
    history = LogHistory().settled(1, 0)
    history.example = msgspec.structs.replace(history.example, context={"topic": TOPIC.name})
    return history


def _internal(history: History) -> History:
    """The same of a topic of coordinators."""
    events = msgspec.json.encode(history.events)
    for before in (b':"', b'["'):
        events = events.replace(before + b'topic"', before + b'__topic"')
    return History(example=history.example, events=msgspec.json.decode(events, type=list[AnyEvent]))


def _appending(partition: str = OURS) -> LogHistory:
    return _begun().hit("any", 1, effects=Effects(appends=True), partition=partition)


def _with_bytes(history: LogHistory, topic: Topic = TOPIC) -> LogHistory:
    return history._lost(history._asked(1, "produce", topic, 0, b"no batch of ours"))


WRITERS = (
    Forgiven(
        WRITTEN_BEFORE,
        row="GEN-16",
        covered=lambda: _forged(_continued()),
        near={
            "another subject": lambda: _forged(_begun()),
            "after it ended": lambda: _forged(_continued().produce(1, "a", at=0).produce(1, "b", at=1)),
        },
        applies={"before it began": "nothing is before the history"},
    ),
    Forgiven(
        WRITTEN_BY_CLUSTER,
        row="GEN-16",
        covered=lambda: _internal(_forged(LogHistory().settled(1, 0))),
        near={"another subject": lambda: _forged(LogHistory().created().settled(1, 0))},
        applies={"before it began": "it lasts all the history", "after it ended": "it lasts all the history"},
    ),
    Forgiven(
        APPENDED_BY_FAULT,
        row="GEN-16",
        covered=lambda: _forged(_appending()),
        near={
            "another subject": lambda: _forged(_appending(OTHER)),
            "before it began": lambda: (
                _begun().whole(1, A, B, FORGED, epoch=0, hw=3).hit("any", 1, effects=Effects(appends=True)).history
            ),
        },
        applies={"after it ended": FOR_GOOD},
    ),
    Forgiven(
        SENT_AS_BYTES,
        row="GEN-16",
        covered=lambda: _forged(_with_bytes(_begun())),
        near={
            "another subject": lambda: _forged(_with_bytes(_begun(), Topic("other"))),
            "before it began": lambda: _with_bytes(_begun().whole(1, A, B, FORGED, epoch=0, hw=3)).history,
        },
        applies={"after it ended": FOR_GOOD},
    ),
)


# --- what moved or compacted it


def _starts_at_1(history: LogHistory) -> LogHistory:
    return history.whole(1, B, epoch=0, hw=2, start=1)


def _kept_again() -> LogHistory:
    """Retention deletes nothing any more when the next record is written."""
    history = _begun(retention_ms="1").altered(RETENTION_MS, None).later(SETTLED_AFTER + 1)
    return history.produce(1, "c", at=2).produce(1, "d", at=3)


def _starts_beyond(history: LogHistory) -> LogHistory:
    return history.whole(1, stamped(0, 3, "d"), epoch=0, hw=4, start=3)


def _read_twice(history: LogHistory) -> LogHistory:
    return history.whole(1, A, B, epoch=0, hw=2).whole(2, A, B, epoch=0, hw=2)


def _moving(history: LogHistory, partition: str = OURS) -> LogHistory:
    return history.hit("retain", 1, effects=Effects(moves_log_start=True), partition=partition)


def _flipped(history: LogHistory, partition: str = OURS) -> LogHistory:
    return history.hit("flip", 2, effects=Effects(disk=("log-bytes",)), partition=partition)


def _reads_flipped(history: LogHistory) -> LogHistory:
    return history.whole(1, A, FLIPPED, epoch=0, hw=2)


def _not_set(key: str, value: str, default: str) -> LogHistory:
    """The outcome is unknown until a broker describes the default."""
    return _begun().altered(key, value, lost=True).later(SETTLED_AFTER + 1).configured(key, default, BUILT_IN)


MOVES = (
    Forgiven(
        DELETED_BY_SETTING,
        row="GEN-15",
        covered=lambda: _starts_at_1(_begun(retention_ms="1")).history,
        near={
            "another subject": lambda: _starts_at_1(_begun().altered(RETENTION_MS, "1", of="other")).history,
            "before it began": lambda: _starts_at_1(_begun()).altered(RETENTION_MS, "1").history,
            "refused": lambda: _starts_at_1(_begun().altered(RETENTION_MS, "1", error=Error.POLICY_VIOLATION)).history,
            "described otherwise": lambda: _starts_at_1(_not_set(RETENTION_MS, "1", "604800000")).history,
            "too little": lambda: _starts_at_1(_begun(retention_ms="-1", delete_retention_ms="1")).history,
            "after it ended": lambda: _starts_beyond(_kept_again()).history,
        },
    ),
    Forgiven(
        MOVED_BY_FAULT,
        row="GEN-15",
        covered=lambda: _starts_at_1(_moving(_begun())).history,
        near={
            "another subject": lambda: _starts_at_1(_moving(_begun(), OTHER)).history,
            "before it began": lambda: _moving(_starts_at_1(_begun())).history,
        },
        applies={"after it ended": FOR_GOOD},
    ),
    Forgiven(
        COMPACTED,
        row="KIP101-INV-01",
        covered=lambda: _read_twice(_begun(cleanup_policy="compact,delete")).history,
        near={
            "another subject": lambda: _read_twice(_begun().altered(CLEANUP_POLICY, "compact", of="other")).history,
            "before it began": lambda: _read_twice(_begun()).altered(CLEANUP_POLICY, "compact").history,
            "refused": lambda: (
                _read_twice(_begun().altered(CLEANUP_POLICY, "compact", error=Error.INVALID_CONFIG)).history
            ),
            "described otherwise": lambda: _read_twice(_not_set(CLEANUP_POLICY, "compact", "delete")).history,
        },
        applies={"after it ended": FOR_GOOD},
    ),
    Forgiven(
        BYTES_FLIPPED,
        row="GEN-16",
        covered=lambda: _reads_flipped(_flipped(_begun())).history,
        near={
            "another subject": lambda: _reads_flipped(_flipped(_begun(), OTHER)).history,
            "before it began": lambda: _flipped(_reads_flipped(_begun())).history,
        },
        applies={"after it ended": FOR_GOOD},
    ),
)


# --- replicas


def _led_on(history: LogHistory, epoch: int = 0) -> LogHistory:
    return history.whole(1, A, B, epoch=epoch, hw=2).whole(1, A, B, epoch=epoch, hw=2)


def _rejoined(history: LogHistory, fault: str) -> LogHistory:
    """2 leads, 1 leaves the ISR and rejoins it, and leads again."""
    history.settled(2, 1, isr=(2, 3)).heal(fault, 1)
    return history.settled(2, 1).settled(1, 2)


def _followed(history: LogHistory) -> LogHistory:
    """2 follows 1, and then 3, without a record that both have."""
    history.settled(3, 1).whole(3, A, B, epoch=1, hw=2)
    return history.whole(2, A, epoch=1, hw=2)


def _in_sync() -> LogHistory:
    return _read_twice(_begun())


def _at_rest(history: LogHistory) -> LogHistory:
    disk = held_on_disk(2, A, B, epochs=((0, 0),))
    return history.all_healed().at_rest().metadata(1, 1, 0).on_disk(disk)


def _differing(history: LogHistory) -> LogHistory:
    """1 and 2 share a batch, and differ below it."""
    common = stamped(2, 1, "c")
    history.whole(1, A, common, epoch=2, hw=2)
    return history.whole(2, stamped(1, 0, "b"), common, epoch=2, hw=2)


def _without_epochs(node: int, partition: str = OURS) -> LogHistory:
    return LogHistory().settled(1, 2).hit("remove-epoch-checkpoint", node, partition=partition)


def _alone(history: LogHistory) -> LogHistory:
    """1 acknowledges a record while it is alone in the ISR."""
    history.hit("kill", 2).hit("stop", 3).metadata(1, 1, 0, isr=(1,), unfenced=(1,))
    return history.produce(1, "a", at=0).metadata(1, 1, 0, isr=(1,), unfenced=(1,))


def _least(value: str) -> LogHistory:
    return LogHistory().created(min_insync_replicas=value).settled(1, 0)


REPLICAS = (
    Forgiven(
        DAMAGED_REPLICA,
        row="GEN-16",
        covered=lambda: _led_on(_begun().hit("wipe", 1, effects=WIPED)).history,
        near={
            "another node": lambda: _led_on(_begun().hit("wipe", 2, effects=WIPED)).history,
            "another subject": lambda: _led_on(_begun().hit("cut-tail-above", 1, partition=OTHER)).history,
            "before it began": lambda: _led_on(_begun()).hit("wipe", 1, effects=WIPED).history,
            "after it ended": lambda: _led_on(_rejoined(_begun().hit("wipe", 1, effects=WIPED), "wipe"), 2).history,
        },
    ),
    Forgiven(
        REASSIGNED,
        row="KIP101-TRUNC-01",
        covered=lambda: _followed(_in_sync().reassigned(1, 3).reassigned(1, 2, 3)).history,
        near={
            "another node": lambda: _followed(_in_sync().reassigned(1, 2).reassigned(1, 2, 3)).history,
            "before it began": lambda: _followed(_in_sync()).reassigned(1, 3).history,
            "refused": lambda: _followed(_in_sync().reassigned(1, 3, error=Error.INVALID_REPLICA_ASSIGNMENT)).history,
        },
        applies={"after it ended": FOR_GOOD},
    ),
    Forgiven(
        MIN_ISR_ALTERED,
        row="KIP101-INV-17",
        covered=lambda: _alone(_least("2").altered(MIN_ISR, "1")).history,
        near={
            "another subject": lambda: _alone(_least("2").altered(MIN_ISR, "1", of="other")).history,
            "before it began": lambda: _alone(_least("2")).altered(MIN_ISR, "1").history,
            "after it ended": lambda: _alone(_least("1").altered(MIN_ISR, "2").later(15)).history,
            "refused": lambda: _alone(_least("2").altered(MIN_ISR, "1", error=Error.INVALID_CONFIG)).history,
            "described otherwise": lambda: (
                _alone(
                    _least("2").altered(MIN_ISR, "1", lost=True).later(SETTLED_AFTER + 1).configured(MIN_ISR, "2", OWN)
                )
                .later(1)
                .history
            ),
        },
    ),
    Forgiven(
        EPOCH_CACHE_LOST,
        row="KIP101-INV-04",
        covered=lambda: _at_rest(_begun().hit("remove-epoch-checkpoint", 2, partition=OURS)).history,
        near={
            "another node": lambda: _at_rest(_begun().hit("remove-epoch-checkpoint", 3, partition=OURS)).history,
            "another subject": lambda: _at_rest(_begun().hit("remove-epoch-checkpoint", 2, partition=OTHER)).history,
            "before it began": lambda: _at_rest(_begun()).hit("remove-epoch-checkpoint", 2, partition=OURS).history,
        },
        applies={"after it ended": FOR_GOOD},
    ),
    Forgiven(
        EPOCHS_LOST,
        row="KIP101-INV-02",
        covered=lambda: _differing(_without_epochs(2)).history,
        near={
            "another node": lambda: _differing(_without_epochs(3)).history,
            "another subject": lambda: _differing(_without_epochs(2, OTHER)).history,
            "before it began": lambda: (
                _differing(LogHistory().settled(1, 2)).hit("remove-epoch-checkpoint", 2, partition=OURS).history
            ),
            "after it ended": lambda: (
                _differing(_without_epochs(2).heal("remove-epoch-checkpoint", 2).settled(1, 2)).history
            ),
        },
    ),
)


# --- producers


FIRST, NEXT = Producer(7, 0, 0), Producer(7, 0, 1)


def _written() -> LogHistory:
    history = LogHistory().created(min_insync_replicas="2").settled(1, 0)
    return history.produce(1, "a", at=0, producer=FIRST).produce(1, "b", at=1, producer=NEXT)


def _appended_again(history: LogHistory) -> LogHistory:
    return history.produce(1, "a", at=2, producer=FIRST)


def _forgets(history: LogHistory, partition: str = OURS) -> LogHistory:
    effects = Effects(forgets_producers=True)
    return history.hit("any", 1, 2, 3, effects=effects, partition=partition).heal("any", 1, 2, 3)


PRODUCERS = (
    Forgiven(
        PRODUCER_STATE_DELETED,
        row="GEN-02",
        covered=lambda: _appended_again(_written().trim(1, 1)).history,
        near={
            "another subject": lambda: _appended_again(_written().trim(1, 0)).history,
            "before it began": lambda: _appended_again(_written()).trim(1, 1).history,
            "refused": lambda: _appended_again(_written().trim(1, 1, error=Error.OFFSET_OUT_OF_RANGE)).history,
        },
        applies={"after it ended": FOR_GOOD},
    ),
    Forgiven(
        PRODUCER_STATE_LOST,
        row="GEN-02",
        covered=lambda: _appended_again(_written().cut(1, end=1)).history,
        near={
            "another node": lambda: _appended_again(_written().cut(3, end=1)).history,
            "another subject": lambda: _appended_again(_written().hit("cut-tail-above", 1, partition=OTHER)).history,
            "before it began": lambda: _appended_again(_written()).cut(1, end=1).history,
            "after it ended": lambda: _appended_again(_rejoined(_written().cut(1, end=1), "cut-tail-above")).history,
        },
    ),
    Forgiven(
        PRODUCER_STATE_EXPIRED,
        row="GEN-02",
        covered=lambda: _appended_again(_forgets(_written())).history,
        near={
            "another subject": lambda: _appended_again(_forgets(_written(), OTHER)).history,
            "before it began": lambda: _forgets(_appended_again(_written())).history,
            "after it ended": lambda: (
                _appended_again(
                    _forgets(LogHistory().created(min_insync_replicas="2").settled(1, 0))
                    .produce(1, "a", at=0, producer=FIRST)
                    .produce(1, "b", at=1, producer=NEXT)
                ).history
            ),
        },
    ),
)


# --- the end, and brokers that come back


def _leaderless(*wiped: int, isr: tuple[int, ...] = (2,), leader: int = -1, first: bool = True) -> History:
    history = LogHistory()
    if first:
        history.hit("wipe-disk", *wiped).heal("wipe-disk", *wiped)
    history.all_healed().later(33).settled(leader, 3, isr=isr).at_rest(met=False).metadata(1, leader, 3, isr=isr)
    if not first:
        history.hit("wipe-disk", *wiped).heal("wipe-disk", *wiped)
    return history.history


def _stuck(history: LogHistory) -> History:
    """3 does not come back in time."""
    isr = (1, 2)
    history.all_healed().settled(2, 1, isr=isr).later(33).settled(2, 1, isr=isr).at_rest(met=False)
    return history.metadata(1, 2, 1, isr=isr).history


def _sees_3_fenced(history: LogHistory) -> LogHistory:
    for _ in range(4):
        history.later(0.5).metadata(1, 1, 0, unfenced=(1, 2))
    return history


ENDS = (
    Forgiven(
        DISK_REPLACED,
        row="KIP101-INV-18",
        covered=lambda: _leaderless(2),
        near={
            "another node": lambda: _leaderless(1),
            "before it began": lambda: _leaderless(2, first=False),
            "after it ended": lambda: _leaderless(2, leader=2),
            "too little": lambda: _leaderless(2, isr=(2, 3)),
        },
    ),
    Forgiven(
        NOT_AT_REST,
        row="KIP101-INV-18",
        covered=lambda: _stuck(LogHistory().hit("isolate", 3)),
        near={"after it ended": lambda: _stuck(LogHistory().hit("isolate", 3).heal("isolate", 3))},
        applies={
            "another subject": "all partitions wait for agreement together",
            "before it began": "the wait itself begins it",
        },
    ),
    Forgiven(
        REGISTERED_AGAIN,
        row="KIP101-INV-16",
        covered=lambda: _sees_3_fenced(LogHistory().settled(1, 0).restart(3)).history,
        near={
            "another node": lambda: _sees_3_fenced(LogHistory().settled(1, 0).restart(2)).history,
            "before it began": lambda: _sees_3_fenced(LogHistory().settled(1, 0)).restart(3).history,
            "after it ended": lambda: (
                _sees_3_fenced(
                    LogHistory().settled(1, 0).restart(3).metadata(1, 1, 0, isr=(1, 2), unfenced=(1, 2)).settled(1, 0)
                ).history
            ),
            "too little": lambda: _sees_3_fenced(LogHistory().settled(1, 0).kill(3)).history,
        },
    ),
)

ENTRIES = (*WRITERS, *MOVES, *REPLICAS, *PRODUCERS, *ENDS)
