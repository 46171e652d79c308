"""For each bug a schedule of the log machine that meets it, about as short as there is, and schedules of what is legal."""

from __future__ import annotations

from fixtures.faults.base.fault import Fault
from fixtures.faults.kinds.disk import CutTailAbove, CutTailBelow, RemoveEpochCheckpoint
from fixtures.faults.kinds.elections import MoveLeader, Reassign
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.shapes import Isolate
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies.log import (
    DeleteRecords,
    FetchAt,
    Join,
    ListOffsets,
    LogStep,
    OffsetFetch,
    OffsetForLeaderEpoch,
    PollGroup,
    Produce,
    Read,
    RevisitPosition,
)
from strategies.steps import CreateTopic, Disturb, DisturbBriefly, Echo, Heal, ReadEverything, RecreateTopic


def disturbed(fault: Fault, *meanwhile: LogStep) -> list[LogStep]:
    return [Disturb(on="strict-0", fault=fault), *meanwhile, Heal()]  # type: ignore[arg-type]


def disturbed_on_loose(fault: Fault, *meanwhile: LogStep) -> list[LogStep]:
    return [Disturb(on="loose-0", fault=fault), *meanwhile, Heal()]  # type: ignore[arg-type]


def cut_off(role: str = "leader") -> CutOffFromControllers:
    return CutOffFromControllers(role=role)


MOVE = DisturbBriefly(on="strict-0", fault=MoveLeader())
WRITE = Produce()
TO_FORMER = Produce(acks=1, to="former-leader")
ALL_TO_FORMER = Produce(to="former-leader")
READ = Read()
FROM_FORMER = Read(role="former-leader", current_back=1)
ISOLATED = Isolate(role="leader")
LONE = Produce(on="lone-0")

SCHEDULES: dict[str, list[LogStep]] = {
    "first-offset-for-all": [Produce(on="strict-1", records=3)],
    "old-version-misnames-wrong-broker": [WRITE],
    "rewritten-while-copied": disturbed(Kill(role="follower"), WRITE),
    "eligible-in-isr": disturbed(Kill(role="follower")),
    "divergent-tail-kept": [WRITE, *disturbed(cut_off(), TO_FORMER, WRITE, WRITE)],
    "stamp-of-first-reign": [WRITE, MOVE, WRITE, MOVE, WRITE],
    "restamping-follower": [WRITE, *disturbed(CutTailAbove(role="leader"))],
    "epoch-map-shifted": [WRITE, MOVE, WRITE, *disturbed(Kill(role="leader"))],
    "epoch-entry-not-trimmed": [Produce(records=3), MOVE, WRITE, DeleteRecords(keep=0)],
    "epoch-end-echoed": [WRITE, MOVE, MOVE, WRITE],
    "acks-all-by-leader-alone": disturbed(ISOLATED, ALL_TO_FORMER),
    "truncated-to-watermark": [WRITE, *disturbed(Kill(role="leader"), WRITE)],
    "phantom-truncation": [WRITE, WRITE, ReadEverything(), *disturbed(Kill(role="leader"), WRITE)],
    "acknowledged-at-one-offset": [WRITE, WRITE, WRITE],
    "reads-past-watermark": disturbed(ISOLATED, TO_FORMER, FROM_FORMER, WRITE),
    "watermark-falls": [WRITE, READ, *disturbed(Kill(role="follower")), READ],
    "log-start-falls": [Produce(records=3), DeleteRecords(keep=1), READ, *disturbed(Kill(role="follower")), READ],
    "latest-beyond-end": [WRITE],
    "stable-beyond-watermark": disturbed(ISOLATED, TO_FORMER, FROM_FORMER, FROM_FORMER),
    "metadata-epoch-falls": [*disturbed(PausePastFencing(role="leader")), READ, READ],
    "two-leaders-in-one-epoch": [MOVE],
    "future-stamps": [WRITE, READ],
    "fence-leak": [MOVE, WRITE, READ, Read(current_back=1)],
    "false-fence": [MOVE, READ, MOVE, OffsetForLeaderEpoch(), MOVE, ListOffsets()],
    "unsound-divergence": [WRITE, MOVE, WRITE, FetchAt(before_end=0, last_fetched_back=1)],
    "epoch-ends-fall": [WRITE, MOVE, WRITE],
    "stale-leader-commits": disturbed(cut_off(), READ, ALL_TO_FORMER),
    "fenced-in-isr": disturbed(cut_off("follower"), READ, READ, READ),
    "never-unparked": [DisturbBriefly(on="strict-0", fault=Reassign()), WRITE],
    "epoch-beyond-log-end": [WRITE, MOVE, *disturbed(cut_off(), TO_FORMER)],
    "committed-epoch-lost": [
        WRITE,
        Join(),
        PollGroup(),
        PollGroup(),
        OffsetFetch(),
        *disturbed(Kill(role="leader"), OffsetFetch()),
        OffsetFetch(),
    ],
    "genuine-pair-flagged": [WRITE, READ, MOVE, WRITE, RevisitPosition()],
    "silent-truncation": [
        WRITE,
        MOVE,
        WRITE,
        Read(full_log=True),
        FetchAt(before_end=0, last_fetched_back=1),
        FetchAt(before_end=-1, last_fetched_back=0),
        Read(full_log=True),
    ],
    "deleted-record-returned": [Produce(records=3), DeleteRecords(keep=0), FetchAt(before_end=2)],
    "newer-epoch-served": [
        *disturbed(cut_off(), READ, Read(role="former-leader"), Read(role="former-leader", current_back=1)),
        READ,
        Read(current_back=-1),
    ],
    "epoch-resumed": [
        LONE,
        Read(on="lone-0"),
        Disturb(on="lone-0", fault=Kill(role="leader")),
        Heal(),
        LONE,
        Read(on="lone-0"),
    ],
    "latest-by-log-end": disturbed(
        ISOLATED, TO_FORMER, FROM_FORMER, ListOffsets(role="former-leader", current_back=1), FROM_FORMER
    ),
    "stable-behind-log-start": [Produce(records=3), DeleteRecords(keep=1), READ],
    "trimmed-too-far": [Produce(records=3), DeleteRecords(keep=2), READ],
    "appended-twice": [WRITE, WRITE, WRITE, READ],
    "uncommitted-at-followers": [
        WRITE,
        *disturbed(PausePastFencing(role="follower"), Produce(acks=1), Read(role="follower"), Read(role="follower")),
    ],
    "epoch-end-by-watermark": disturbed(
        ISOLATED,
        TO_FORMER,
        Read(role="former-leader", full_log=True, current_back=1),
        OffsetForLeaderEpoch(role="former-leader", epochs_back=1, current_back=1),
    ),
}
"""The others are in `scripted`."""

LOOSE = Produce(on="loose-0")
KEYED = Produce(on="compacted-0", records=3)

LEGAL: dict[str, list[LogStep]] = {
    "created again, and deleted by a copy of the first request": [
        CreateTopic(on="fleeting"),
        RecreateTopic(on="fleeting"),
        Echo(back=1),
        WRITE,
    ],
    "acks=1 lost with its leader": [WRITE, *disturbed(ISOLATED, TO_FORMER, WRITE, READ), READ],
    "acks=0 lost with its leader": [
        WRITE,
        *disturbed(ISOLATED, Produce(acks=0, to="former-leader"), WRITE, READ),
        READ,
    ],
    "acks=all of unknown outcome lost": [WRITE, *disturbed(ISOLATED, ALL_TO_FORMER, WRITE, READ), READ],
    "acks=all of unknown outcome kept": disturbed(PausePastFencing(role="follower"), WRITE, READ),
    "records lost by an unclean election": [
        LOOSE,
        *disturbed_on_loose(
            UncleanElection(own_topic=False), LOOSE, Read(on="loose-0"), FetchAt(on="loose-0", last_fetched_back=1)
        ),
        RevisitPosition(on="loose-0"),
        Read(on="loose-0"),
    ],
    "the tail of the only replica lost": [LOOSE, *disturbed_on_loose(CutTailBelow(role="leader"), LOOSE), LOOSE],
    "a lower high watermark under the next leader": [WRITE, READ, MOVE, READ, WRITE, READ],
    "a lower log start after a crash": [
        Produce(records=3),
        WRITE,
        DeleteRecords(keep=1),
        *disturbed(Kill(role="leader"), READ),
        READ,
    ],
    "epochs without records": [
        WRITE,
        MOVE,
        MOVE,
        MOVE,
        WRITE,
        OffsetForLeaderEpoch(epochs_back=1),
        OffsetForLeaderEpoch(epochs_back=2),
    ],
    "an end of an epoch beyond the high watermark": disturbed(
        ISOLATED,
        TO_FORMER,
        OffsetForLeaderEpoch(role="former-leader", epochs_back=1, current_back=1),
        Read(role="former-leader", current_back=1),
    ),
    "an epoch that the answerer lost": [
        WRITE,
        MOVE,
        WRITE,
        *disturbed(RemoveEpochCheckpoint(role="follower", clean=True)),
        FetchAt(role="follower", last_fetched_back=0),
        FetchAt(role="follower", last_fetched_back=1),
    ],
    "a log that begins in the midst of a batch": disturbed(cut_off(), Produce(records=2), DeleteRecords(keep=1)),
    "keys compacted away": [KEYED, KEYED, KEYED, KEYED, READ, READ, READ, Read(on="compacted-0", full_log=True)],
    "a tail read from a zombie": disturbed(
        cut_off(),
        TO_FORMER,
        Read(role="former-leader", full_log=True, current_back=1),
        Read(role="former-leader"),
        WRITE,
        RevisitPosition(),
    ),
}
"""Legal schedules that come close to a bug: no judge may report a violation."""
