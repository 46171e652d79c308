"""For each bug a schedule of the log machine that meets it, about as short as there is; none of them is red without the bug."""

from __future__ import annotations

from fixtures.faults.disk import CutTailAbove
from fixtures.faults.elections import MoveLeader, Reassignment
from fixtures.faults.fault import Fault
from fixtures.faults.process import Kill, PausePastFencing
from fixtures.faults.shapes import Isolate
from fixtures.faults.zombies import CutOffFromControllers
from strategies.log_steps import (
    AskCommitted,
    AskEpoch,
    Disturb,
    FetchAt,
    Heal,
    Join,
    LogStep,
    PollGroup,
    Produce,
    Read,
    Recall,
    Shake,
    Trim,
)


def disturbed(fault: Fault, *meanwhile: LogStep) -> list[LogStep]:
    return [Disturb(fault=fault), *meanwhile, Heal()]  # type: ignore[arg-type]


def cut_off(role: str = "leader") -> CutOffFromControllers:
    return CutOffFromControllers(role=role)


MOVE = Shake(fault=MoveLeader())
WRITE = Produce()
TO_DEPOSED = Produce(acks=1, to="deposed")
ALL_TO_DEPOSED = Produce(to="deposed")
READ = Read()
ISOLATED = Isolate(role="leader")

SCHEDULES: dict[str, list[LogStep]] = {
    "rewritten-while-copied": disturbed(Kill(role="follower"), WRITE),
    "divergent-tail-kept": [WRITE, *disturbed(cut_off(), TO_DEPOSED, WRITE, WRITE)],
    "stamp-of-first-reign": [WRITE, MOVE, WRITE, MOVE, WRITE],
    "restamping-follower": [WRITE, *disturbed(CutTailAbove(role="leader"))],
    "epoch-map-shifted": [WRITE, MOVE, WRITE, *disturbed(Kill(role="leader"))],
    "epoch-entry-not-trimmed": [Produce(records=3), MOVE, WRITE, Trim(keep=0)],
    "epoch-end-echoed": [WRITE, MOVE, MOVE, WRITE],
    "acks-all-by-leader-alone": disturbed(ISOLATED, ALL_TO_DEPOSED),
    "truncated-to-watermark": [WRITE, *disturbed(Kill(role="leader"), WRITE)],
    "phantom-truncation": [WRITE, WRITE, *disturbed(Kill(role="leader"), WRITE)],
    "acknowledged-at-one-offset": [WRITE, WRITE, WRITE],
    "reads-past-watermark": disturbed(ISOLATED, TO_DEPOSED, Read(role="deposed", epochs_back=1), WRITE),
    "watermark-falls": [WRITE, READ, *disturbed(Kill(role="follower")), READ],
    "log-start-falls": [Produce(records=3), Trim(keep=1), READ, *disturbed(Kill(role="follower")), READ],
    "latest-beyond-end": [WRITE],
    "stable-beyond-watermark": disturbed(ISOLATED, TO_DEPOSED, Read(role="deposed", epochs_back=1)),
    "metadata-epoch-falls": [*disturbed(PausePastFencing(role="leader")), READ],
    "two-leaders-in-one-epoch": [MOVE],
    "future-stamps": [WRITE, READ],
    "fence-leak": [MOVE, WRITE, READ, Read(epochs_back=1)],
    "false-fence": [MOVE, READ],
    "unsound-divergence": [WRITE, MOVE, WRITE, FetchAt(before_end=0, last_back=1)],
    "epoch-ends-fall": [WRITE, MOVE, WRITE],
    "stale-leader-commits": disturbed(cut_off(), READ, ALL_TO_DEPOSED),
    "fenced-in-isr": disturbed(cut_off("follower"), READ, READ, READ),
    "never-unparked": [WRITE, Shake(fault=Reassignment()), WRITE],
    "epoch-beyond-log-end": [WRITE, MOVE, *disturbed(cut_off(), TO_DEPOSED)],
    "committed-epoch-lost": [WRITE, Join(), PollGroup(), PollGroup(), AskCommitted()],
    "genuine-pair-flagged": [WRITE, READ, MOVE, WRITE, Recall()],
    "silent-truncation": [WRITE, MOVE, WRITE, Read(whole=True), FetchAt(before_end=0, last_back=1)],
    "deleted-record-returned": [Produce(records=3), Trim(keep=0), FetchAt(before_end=2)],
    "newer-epoch-served": [WRITE, Read(epochs_back=-1)],
    "epoch-end-by-watermark": disturbed(
        ISOLATED,
        TO_DEPOSED,
        Read(role="deposed", whole=True, epochs_back=1),
        AskEpoch(role="deposed", epochs_back=1, claimed_back=1),
    ),
}
"""`success-below-min-isr` is missing: one fault at a time leaves a strict partition two replicas in its ISR."""
