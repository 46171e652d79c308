"""For each bug a schedule of the producer machine that meets it, and schedules of what is legal."""

from __future__ import annotations

from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.producers import ForgetProducers
from fixtures.faults.kinds.shapes import Isolate
from fixtures.faults.kinds.unclean import UncleanElection
from strategies.producers import (
    BumpAsFenced,
    BumpEpoch,
    CommitOffset,
    DeleteRecords,
    EndNothing,
    EndTransaction,
    InitProducerId,
    OutlastTimeout,
    ProducerStep,
    RaiseEpoch,
    RepeatBatch,
    SendAsFenced,
    SkipSequence,
    Write,
)
from strategies.steps import Disturb, DisturbBriefly, Echo, Heal, ReadEverything

PLAIN = Write(producer="plain-1")
OPEN = Write(producer="tv2-1")
OLD, OLD_COMMIT = Write(producer="legacy-1"), EndTransaction(producer="legacy-1")
ELSEWHERE = Write(producer="tv2-1", on="strict-1")
COMMIT, ABORT = EndTransaction(producer="tv2-1"), EndTransaction(producer="tv2-1", commit=False)
FORGET = DisturbBriefly(on="strict-0", fault=ForgetProducers(role="all brokers", own_producer=False))
AGAIN = InitProducerId(producer="tv2-1")
LAST = RaiseEpoch(producer="legacy-1", to=32_766)

FOLLOWER_LOST = Disturb(on="strict-0", fault=Kill(role="follower"))
DECIDED: list[ProducerStep] = [
    OPEN,
    FOLLOWER_LOST,
    FOLLOWER_LOST,
    COMMIT,
    Disturb(on="strict-0", fault=Kill(role="leader")),
    Heal(),
    EndNothing(producer="tv2-1", commit=False),
]
"""Too few replicas take the markers; then the coordinator is lost, too."""

SCHEDULES: dict[str, list[ProducerStep]] = {
    "duplicates-appended": [PLAIN, RepeatBatch(producer="plain-1")],
    "open-transaction-expires": [PLAIN, OPEN, FORGET, RepeatBatch(producer="tv2-1"), COMMIT],
    "acknowledged-at-one-offset": [PLAIN, PLAIN, PLAIN],
    "gap-appended": [PLAIN, SkipSequence(producer="plain-1")],
    "old-epoch-appended": [PLAIN, BumpEpoch(producer="plain-1"), SendAsFenced(producer="plain-1", seen=True)],
    "fenced-request-granted": [OPEN, COMMIT, AGAIN, SendAsFenced(request="add-partitions")],
    "fenced-epoch-appended": [OPEN, COMMIT, AGAIN, SendAsFenced(on="strict-1", request="produce")],
    "every-third-commit-aborted": [Write(producer="tv2-1", records=3), COMMIT],
    "last-partition-unmarked": [OPEN, ELSEWHERE, COMMIT],
    "spread-transaction-stays-prepared": [OPEN, ELSEWHERE, COMMIT],
    "aborted-offsets-kept": [CommitOffset(producer="tv2-1"), OPEN, ABORT],
    "prepared-reopened": DECIDED,
    "open-transactions-shown": [OPEN, ReadEverything(), COMMIT],
    "markers-end-nothing": [OPEN, COMMIT],
    "ids-given-twice": [PLAIN, Write(producer="plain-2")],
    "epoch-not-raised": [OPEN, COMMIT, AGAIN],
    "last-epoch-passed": [LAST, OLD, OLD_COMMIT, BumpEpoch(producer="legacy-1")],
    "rotated-again": [LAST, BumpEpoch(producer="legacy-1"), Echo(back=0)],
    "end-of-nothing-granted": [InitProducerId(producer="legacy-1"), EndNothing(producer="legacy-1")],
    "third-instance-never-given": [
        OPEN,
        COMMIT,
        AGAIN,
        Disturb(on="strict-0", fault=Kill(role="follower")),
        Heal(),
        AGAIN,
    ],
    "follower-forgets-producers": [PLAIN],
    "fenced-write-as-producer-fenced": [OPEN, COMMIT, AGAIN, SendAsFenced(on="strict-1", request="produce")],
    "gap-refused-as-fenced": [PLAIN, SkipSequence(producer="plain-1")],
    "fenced-end-as-invalid-state": [OPEN, COMMIT, AGAIN, SendAsFenced(request="commit")],
    "epoch-skipped": [OPEN, COMMIT, AGAIN],
    "offsets-without-group": [OLD, CommitOffset(producer="legacy-1", unadded=True), OLD_COMMIT],
    "busy-at-rest": [OLD, OLD_COMMIT],
    "late-commit-granted": [InitProducerId(timeout_ms=2_000), OPEN, OutlastTimeout(producer="tv2-1"), COMMIT],
    "every-third-write-fenced": [Write(producer="plain-1", records=3), PLAIN, ReadEverything()],
}

LEGAL: dict[str, list[ProducerStep]] = {
    "commit and abort in both protocols, with offsets": [
        *[
            step
            for producer in ("tv2-1", "legacy-1")
            for commit in (True, False)
            for step in (
                Write(producer=producer),
                Write(producer=producer, on="strict-1"),
                CommitOffset(producer=producer),
                EndTransaction(producer=producer, commit=commit),
            )
        ],
    ],
    "a leader is killed under an open transaction": [
        OPEN,
        Disturb(on="strict-0", fault=Kill(role="leader")),
        OPEN,
        COMMIT,
        Heal(),
    ],
    "no answer from an isolated leader, and the batch again": [
        PLAIN,
        Disturb(on="strict-0", fault=Isolate(role="leader", clients_too=False)),
        Write(producer="plain-1", to="former-leader"),
        PLAIN,
        Heal(),
        PLAIN,
    ],
    "a coordinator is lost with a decided transaction": DECIDED,
    "a fenced instance goes on": [
        OPEN,
        AGAIN,
        *[
            SendAsFenced(request=request)
            for request in ("produce", "add-partitions", "add-offsets", "commit-offset", "commit")
        ],
        OPEN,
        COMMIT,
    ],
    "a fenced instance asks for the next epoch": [OPEN, AGAIN, OPEN, BumpAsFenced(producer="tv2-1"), COMMIT],
    "epochs are raised with a transaction open": [OPEN, BumpEpoch(producer="tv2-1"), OPEN, COMMIT],
    "records of a producer are deleted, and a replica starts again": [
        PLAIN,
        DeleteRecords(keep=0),
        Disturb(on="strict-0", fault=Kill(role="leader")),
        Heal(),
        PLAIN,
    ],
    "an unclean election under an open transaction": [
        Write(producer="tv2-1", on="loose-0"),
        Disturb(on="loose-0", fault=UncleanElection(own_topic=False)),
        Heal(),
        COMMIT,
        Write(producer="plain-1", on="loose-0"),
    ],
    "idle producers are forgotten": [
        PLAIN,
        OPEN,
        COMMIT,
        FORGET,
        RepeatBatch(producer="plain-1"),
        PLAIN,
        OPEN,
        FORGET,
        RepeatBatch(producer="tv2-1"),
        OPEN,
        COMMIT,
    ],
    "transactions time out in both protocols": [
        step
        for producer in ("tv2-1", "legacy-1")
        for step in (
            InitProducerId(producer=producer, timeout_ms=2_000),
            Write(producer=producer),
            CommitOffset(producer=producer),
            OutlastTimeout(producer=producer),
            Write(producer=producer, on="strict-1"),
            EndTransaction(producer=producer),
            Write(producer=producer),
            EndTransaction(producer=producer),
        )
    ],
    "epochs run out by ends in the second protocol": [
        RaiseEpoch(producer="tv2-1", to=32_765),
        OPEN,
        ELSEWHERE,
        COMMIT,
        OPEN,
        COMMIT,
        OPEN,
        COMMIT,
        SendAsFenced(request="commit"),
        OPEN,
        ABORT,
    ],
    "epochs run out by InitProducerId": [
        LAST,
        OLD,
        OLD_COMMIT,
        BumpEpoch(producer="legacy-1"),
        Echo(back=0),
        OLD,
        OLD_COMMIT,
        Echo(back=3),
    ],
    "a new instance aborts a transaction at the last epoch": [
        LAST,
        OLD,
        InitProducerId(producer="legacy-1"),
        OLD,
        OLD_COMMIT,
        SendAsFenced(producer="legacy-1", request="produce", seen=True),
        SendAsFenced(producer="legacy-1", request="add-partitions"),
    ],
    "an idempotent producer runs out of epochs": [
        PLAIN,
        RaiseEpoch(producer="plain-1", to=32_766),
        PLAIN,
        BumpEpoch(producer="plain-1"),
        PLAIN,
        BumpEpoch(producer="plain-1"),
        PLAIN,
        SendAsFenced(producer="plain-1"),
    ],
    "a late copy of an ended transaction's requests": [OPEN, COMMIT, OPEN, Echo(back=1), Echo(back=2), COMMIT],
    "leaders move while a follower is frozen": [
        PLAIN,
        DisturbBriefly(on="strict-0", fault=MoveLeader()),
        PLAIN,
        Disturb(on="strict-0", fault=PausePastFencing(role="follower")),
        PLAIN,
        RepeatBatch(producer="plain-1", back=1),
        Heal(),
    ],
}
