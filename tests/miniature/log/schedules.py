"""For each bug a nearly minimal schedule of the log machine that meets it, and legal schedules."""

from __future__ import annotations

from fixtures.faults.base.fault import Fault
from fixtures.faults.kinds import (
    batches,
    elections,
    files,
    process,
    shapes,
    unclean,
    zombies,
)
from strategies import log as do
from strategies.steps import CreateTopic, Disturb, DisturbBriefly, Echo, Heal, ReadEverything, RecreateTopic


def disturbed(fault: Fault, *meanwhile: do.LogStep) -> list[do.LogStep]:
    return [Disturb(on="strict-0", fault=fault), *meanwhile, Heal()]


def disturbed_on_loose(fault: Fault, *meanwhile: do.LogStep) -> list[do.LogStep]:
    return [Disturb(on="loose-0", fault=fault), *meanwhile, Heal()]


def cut_off(role: str = "leader") -> zombies.CutOffFromControllers:
    return zombies.CutOffFromControllers(role=role)


MOVE = DisturbBriefly(on="strict-0", fault=elections.MoveLeader())
WRITE = do.Produce()
TO_FORMER = do.Produce(acks=1, to="former-leader")
ALL_TO_FORMER = do.Produce(to="former-leader")
READ = do.Read()
FROM_FORMER = do.Read(role="former-leader", current_back=1)
ISOLATED = shapes.Isolate(role="leader")
LONE = do.Produce(on="lone-0")

SCHEDULES: dict[str, list[do.LogStep]] = {
    "first-offset-for-all": [do.Produce(on="strict-1", records=3)],
    "old-version-misnames-wrong-broker": [WRITE],
    "rewritten-while-copied": disturbed(process.Kill(role="follower"), WRITE),
    "eligible-in-isr": disturbed(process.Kill(role="follower")),
    "divergent-tail-kept": [WRITE, *disturbed(cut_off(), TO_FORMER, WRITE, WRITE)],
    "stamp-of-first-reign": [WRITE, MOVE, WRITE, MOVE, WRITE],
    "restamping-follower": [WRITE, *disturbed(batches.CutTailAbove(role="leader"))],
    "epoch-map-shifted": [WRITE, MOVE, WRITE, *disturbed(process.Kill(role="leader"))],
    "epoch-entry-not-trimmed": [do.Produce(records=3), MOVE, WRITE, do.DeleteRecords(keep=0)],
    "epoch-end-echoed": [WRITE, MOVE, MOVE, WRITE],
    "acks-all-by-leader-alone": disturbed(ISOLATED, ALL_TO_FORMER),
    "truncated-to-watermark": [WRITE, *disturbed(process.Kill(role="leader"), WRITE)],
    "phantom-truncation": [WRITE, WRITE, ReadEverything(), *disturbed(process.Kill(role="leader"), WRITE)],
    "acknowledged-at-one-offset": [WRITE, WRITE, WRITE],
    "reads-past-watermark": disturbed(ISOLATED, TO_FORMER, FROM_FORMER, WRITE),
    "watermark-falls": [WRITE, READ, *disturbed(process.Kill(role="follower")), READ],
    "log-start-falls": [
        do.Produce(records=3),
        do.DeleteRecords(keep=1),
        READ,
        *disturbed(process.Kill(role="follower")),
        READ,
    ],
    "latest-beyond-end": [WRITE],
    "stable-beyond-watermark": disturbed(ISOLATED, TO_FORMER, FROM_FORMER, FROM_FORMER),
    "metadata-epoch-falls": [*disturbed(process.PausePastFencing(role="leader")), READ, READ],
    "two-leaders-in-one-epoch": [MOVE],
    "future-stamps": [WRITE, READ],
    "fence-leak": [MOVE, WRITE, READ, do.Read(current_back=1)],
    "false-fence": [MOVE, READ, MOVE, do.OffsetForLeaderEpoch(), MOVE, do.ListOffsets()],
    "unsound-divergence": [WRITE, MOVE, WRITE, do.FetchAt(before_end=0, last_fetched_back=1)],
    "epoch-ends-fall": [WRITE, MOVE, WRITE],
    "stale-leader-commits": disturbed(cut_off(), READ, ALL_TO_FORMER),
    "fenced-in-isr": disturbed(cut_off("follower"), READ, READ, READ, READ),
    "never-unparked": [DisturbBriefly(on="strict-0", fault=elections.Reassign()), WRITE],
    "epoch-beyond-log-end": [WRITE, MOVE, *disturbed(cut_off(), TO_FORMER)],
    "committed-epoch-lost": [
        WRITE,
        do.Join(),
        do.PollGroup(),
        do.PollGroup(),
        do.OffsetFetch(),
        *disturbed(process.Kill(role="leader"), do.OffsetFetch()),
        do.OffsetFetch(),
    ],
    "genuine-pair-flagged": [WRITE, READ, MOVE, WRITE, do.RevisitPosition()],
    "silent-truncation": [
        WRITE,
        MOVE,
        WRITE,
        do.Read(full_log=True),
        do.FetchAt(before_end=0, last_fetched_back=1),
        do.FetchAt(before_end=-1, last_fetched_back=0),
        do.Read(full_log=True),
    ],
    "deleted-record-returned": [do.Produce(records=3), do.DeleteRecords(keep=0), do.FetchAt(before_end=2)],
    "newer-epoch-served": [
        *disturbed(cut_off(), READ, do.Read(role="former-leader"), do.Read(role="former-leader", current_back=1)),
        READ,
        do.Read(current_back=-1),
    ],
    "epoch-resumed": [
        LONE,
        do.Read(on="lone-0"),
        Disturb(on="lone-0", fault=process.Kill(role="leader")),
        Heal(),
        LONE,
        do.Read(on="lone-0"),
    ],
    "latest-by-log-end": disturbed(
        ISOLATED, TO_FORMER, FROM_FORMER, do.ListOffsets(role="former-leader", current_back=1), FROM_FORMER
    ),
    "stable-behind-log-start": [do.Produce(records=3), do.DeleteRecords(keep=1), READ],
    "trimmed-too-far": [do.Produce(records=3), do.DeleteRecords(keep=2), READ],
    "appended-twice": [WRITE, WRITE, WRITE, READ],
    "uncommitted-at-followers": [
        WRITE,
        *disturbed(
            process.PausePastFencing(role="follower"),
            do.Produce(acks=1),
            do.Read(role="follower"),
            do.Read(role="follower"),
        ),
    ],
    "epoch-end-by-watermark": disturbed(
        ISOLATED,
        TO_FORMER,
        do.Read(role="former-leader", full_log=True, current_back=1),
        do.OffsetForLeaderEpoch(role="former-leader", epochs_back=1, current_back=1),
    ),
}
"""The schedules by bug; the others are in `scripted`."""

LOOSE = do.Produce(on="loose-0")
KEYED = do.Produce(on="compacted-0", records=3)

LEGAL: dict[str, list[do.LogStep]] = {
    "created again, and deleted by a copy of the first request": [
        CreateTopic(on="fleeting"),
        RecreateTopic(on="fleeting"),
        Echo(back=1),
        WRITE,
    ],
    "acks=1 lost with its leader": [WRITE, *disturbed(ISOLATED, TO_FORMER, WRITE, READ), READ],
    "acks=0 lost with its leader": [
        WRITE,
        *disturbed(ISOLATED, do.Produce(acks=0, to="former-leader"), WRITE, READ),
        READ,
    ],
    "acks=all of unknown outcome lost": [WRITE, *disturbed(ISOLATED, ALL_TO_FORMER, WRITE, READ), READ],
    "acks=all of unknown outcome kept": disturbed(process.PausePastFencing(role="follower"), WRITE, READ),
    "records lost by an unclean election": [
        LOOSE,
        *disturbed_on_loose(
            unclean.UncleanElection(own_topic=False),
            LOOSE,
            do.Read(on="loose-0"),
            do.FetchAt(on="loose-0", last_fetched_back=1),
        ),
        do.RevisitPosition(on="loose-0"),
        do.Read(on="loose-0"),
    ],
    "the tail of the only replica lost": [
        LOOSE,
        *disturbed_on_loose(batches.CutTailBelow(role="leader"), LOOSE),
        LOOSE,
    ],
    "a lower high watermark under the next leader": [WRITE, READ, MOVE, READ, WRITE, READ],
    "a lower log start after a crash": [
        do.Produce(records=3),
        WRITE,
        do.DeleteRecords(keep=1),
        *disturbed(process.Kill(role="leader"), READ),
        READ,
    ],
    "epochs without records": [
        WRITE,
        MOVE,
        MOVE,
        MOVE,
        WRITE,
        do.OffsetForLeaderEpoch(epochs_back=1),
        do.OffsetForLeaderEpoch(epochs_back=2),
    ],
    "an end of an epoch beyond the high watermark": disturbed(
        ISOLATED,
        TO_FORMER,
        do.OffsetForLeaderEpoch(role="former-leader", epochs_back=1, current_back=1),
        do.Read(role="former-leader", current_back=1),
    ),
    "an epoch that the answerer lost": [
        WRITE,
        MOVE,
        WRITE,
        *disturbed(files.RemoveEpochCheckpoint(role="follower", clean=True)),
        do.FetchAt(role="follower", last_fetched_back=0),
        do.FetchAt(role="follower", last_fetched_back=1),
    ],
    "a log that begins in the midst of a batch": disturbed(cut_off(), do.Produce(records=2), do.DeleteRecords(keep=1)),
    "keys compacted away": [KEYED, KEYED, KEYED, KEYED, READ, READ, READ, do.Read(on="compacted-0", full_log=True)],
    "a tail read from a zombie": disturbed(
        cut_off(),
        TO_FORMER,
        do.Read(role="former-leader", full_log=True, current_back=1),
        do.Read(role="former-leader"),
        WRITE,
        do.RevisitPosition(),
    ),
}
"""Legal schedules close to a bug, in which no judge may report a violation."""
