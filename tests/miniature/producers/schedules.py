"""For each bug a schedule of the producer machine that meets it, and legal schedules."""

from __future__ import annotations

from fixtures.faults.kinds import elections, process, producers, shapes, unclean
from strategies import producers as do
from strategies.steps import Disturb, DisturbBriefly, Echo, Heal, ReadEverything

PLAIN = do.Write(producer="plain-1")
OPEN = do.Write(producer="tv2-1")
OLD, OLD_COMMIT = do.Write(producer="legacy-1"), do.EndTransaction(producer="legacy-1")
ELSEWHERE = do.Write(producer="tv2-1", on="strict-1")
COMMIT, ABORT = do.EndTransaction(producer="tv2-1"), do.EndTransaction(producer="tv2-1", commit=False)
FORGET = DisturbBriefly(on="strict-0", fault=producers.ForgetProducers(role="all brokers", own_producer=False))
AGAIN = do.InitProducerId(producer="tv2-1")
LAST = do.RaiseEpoch(producer="legacy-1", to=32_766)

FOLLOWER_LOST = Disturb(on="strict-0", fault=process.Kill(role="follower"))
DECIDED: list[do.ProducerStep] = [
    OPEN,
    FOLLOWER_LOST,
    FOLLOWER_LOST,
    COMMIT,
    Disturb(on="strict-0", fault=process.Kill(role="leader")),
    Heal(),
    do.EndNothing(producer="tv2-1", commit=False),
]
"""Too few replicas for the markers; then the coordinator is lost, too."""

SCHEDULES: dict[str, list[do.ProducerStep]] = {
    "duplicates-appended": [PLAIN, do.RepeatBatch(producer="plain-1")],
    "open-transaction-expires": [PLAIN, OPEN, FORGET, do.RepeatBatch(producer="tv2-1"), COMMIT],
    "acknowledged-at-one-offset": [PLAIN, PLAIN, PLAIN],
    "gap-appended": [PLAIN, do.SkipSequence(producer="plain-1")],
    "old-epoch-appended": [PLAIN, do.BumpEpoch(producer="plain-1"), do.SendAsFenced(producer="plain-1", seen=True)],
    "fenced-request-granted": [OPEN, COMMIT, AGAIN, do.SendAsFenced(request="add-partitions")],
    "fenced-epoch-appended": [OPEN, COMMIT, AGAIN, do.SendAsFenced(on="strict-1", request="produce")],
    "every-third-commit-aborted": [do.Write(producer="tv2-1", records=3), COMMIT],
    "last-partition-unmarked": [OPEN, ELSEWHERE, COMMIT],
    "spread-transaction-stays-prepared": [OPEN, ELSEWHERE, COMMIT],
    "aborted-offsets-kept": [do.CommitOffset(producer="tv2-1"), OPEN, ABORT],
    "prepared-reopened": DECIDED,
    "open-transactions-shown": [OPEN, ReadEverything(), COMMIT],
    "markers-end-nothing": [OPEN, COMMIT],
    "ids-given-twice": [PLAIN, do.Write(producer="plain-2")],
    "epoch-not-raised": [OPEN, COMMIT, AGAIN],
    "last-epoch-passed": [LAST, OLD, OLD_COMMIT, do.BumpEpoch(producer="legacy-1")],
    "rotated-again": [LAST, do.BumpEpoch(producer="legacy-1"), Echo(back=0)],
    "end-of-nothing-granted": [do.InitProducerId(producer="legacy-1"), do.EndNothing(producer="legacy-1")],
    "third-instance-never-given": [
        OPEN,
        COMMIT,
        AGAIN,
        Disturb(on="strict-0", fault=process.Kill(role="follower")),
        Heal(),
        AGAIN,
    ],
    "follower-forgets-producers": [PLAIN],
    "fenced-write-as-producer-fenced": [OPEN, COMMIT, AGAIN, do.SendAsFenced(on="strict-1", request="produce")],
    "gap-refused-as-fenced": [PLAIN, do.SkipSequence(producer="plain-1")],
    "fenced-end-as-invalid-state": [OPEN, COMMIT, AGAIN, do.SendAsFenced(request="commit")],
    "epoch-skipped": [OPEN, COMMIT, AGAIN],
    "offsets-without-group": [OLD, do.CommitOffset(producer="legacy-1", unadded=True), OLD_COMMIT],
    "busy-at-rest": [OLD, OLD_COMMIT],
    "late-commit-granted": [do.InitProducerId(timeout_ms=2_000), OPEN, do.OutlastTimeout(producer="tv2-1"), COMMIT],
    "every-third-write-fenced": [do.Write(producer="plain-1", records=3), PLAIN, ReadEverything()],
}

LEGAL: dict[str, list[do.ProducerStep]] = {
    "commit and abort in both protocols, with offsets": [
        *[
            step
            for producer in ("tv2-1", "legacy-1")
            for commit in (True, False)
            for step in (
                do.Write(producer=producer),
                do.Write(producer=producer, on="strict-1"),
                do.CommitOffset(producer=producer),
                do.EndTransaction(producer=producer, commit=commit),
            )
        ],
    ],
    "a leader is killed under an open transaction": [
        OPEN,
        Disturb(on="strict-0", fault=process.Kill(role="leader")),
        OPEN,
        COMMIT,
        Heal(),
    ],
    "no answer from an isolated leader, and the batch again": [
        PLAIN,
        Disturb(on="strict-0", fault=shapes.Isolate(role="leader", clients_too=False)),
        do.Write(producer="plain-1", to="former-leader"),
        PLAIN,
        Heal(),
        PLAIN,
    ],
    "a coordinator is lost with a decided transaction": DECIDED,
    "a fenced instance goes on": [
        OPEN,
        AGAIN,
        *[
            do.SendAsFenced(request=request)
            for request in ("produce", "add-partitions", "add-offsets", "commit-offset", "commit")
        ],
        OPEN,
        COMMIT,
    ],
    "a fenced instance asks for the next epoch": [OPEN, AGAIN, OPEN, do.BumpAsFenced(producer="tv2-1"), COMMIT],
    "epochs are raised with a transaction open": [OPEN, do.BumpEpoch(producer="tv2-1"), OPEN, COMMIT],
    "records of a producer are deleted, and a replica starts again": [
        PLAIN,
        do.DeleteRecords(keep=0),
        Disturb(on="strict-0", fault=process.Kill(role="leader")),
        Heal(),
        PLAIN,
    ],
    "an unclean election under an open transaction": [
        do.Write(producer="tv2-1", on="loose-0"),
        Disturb(on="loose-0", fault=unclean.UncleanElection(own_topic=False)),
        Heal(),
        COMMIT,
        do.Write(producer="plain-1", on="loose-0"),
    ],
    "idle producers are forgotten": [
        PLAIN,
        OPEN,
        COMMIT,
        FORGET,
        do.RepeatBatch(producer="plain-1"),
        PLAIN,
        OPEN,
        FORGET,
        do.RepeatBatch(producer="tv2-1"),
        OPEN,
        COMMIT,
    ],
    "transactions time out in both protocols": [
        step
        for producer in ("tv2-1", "legacy-1")
        for step in (
            do.InitProducerId(producer=producer, timeout_ms=2_000),
            do.Write(producer=producer),
            do.CommitOffset(producer=producer),
            do.OutlastTimeout(producer=producer),
            do.Write(producer=producer, on="strict-1"),
            do.EndTransaction(producer=producer),
            do.Write(producer=producer),
            do.EndTransaction(producer=producer),
        )
    ],
    "epochs run out by ends in the second protocol": [
        do.RaiseEpoch(producer="tv2-1", to=32_765),
        OPEN,
        ELSEWHERE,
        COMMIT,
        OPEN,
        COMMIT,
        OPEN,
        COMMIT,
        do.SendAsFenced(request="commit"),
        OPEN,
        ABORT,
    ],
    "epochs run out by InitProducerId": [
        LAST,
        OLD,
        OLD_COMMIT,
        do.BumpEpoch(producer="legacy-1"),
        Echo(back=0),
        OLD,
        OLD_COMMIT,
        Echo(back=3),
    ],
    "a new instance aborts a transaction at the last epoch": [
        LAST,
        OLD,
        do.InitProducerId(producer="legacy-1"),
        OLD,
        OLD_COMMIT,
        do.SendAsFenced(producer="legacy-1", request="produce", seen=True),
        do.SendAsFenced(producer="legacy-1", request="add-partitions"),
    ],
    "an idempotent producer runs out of epochs": [
        PLAIN,
        do.RaiseEpoch(producer="plain-1", to=32_766),
        PLAIN,
        do.BumpEpoch(producer="plain-1"),
        PLAIN,
        do.BumpEpoch(producer="plain-1"),
        PLAIN,
        do.SendAsFenced(producer="plain-1"),
    ],
    "a late copy of an ended transaction's requests": [OPEN, COMMIT, OPEN, Echo(back=1), Echo(back=2), COMMIT],
    "leaders move while a follower is frozen": [
        PLAIN,
        DisturbBriefly(on="strict-0", fault=elections.MoveLeader()),
        PLAIN,
        Disturb(on="strict-0", fault=process.PausePastFencing(role="follower")),
        PLAIN,
        do.RepeatBatch(producer="plain-1", back=1),
        Heal(),
    ],
}
