"""For each bug a schedule of the group machine that meets it, and legal schedules."""

from __future__ import annotations

from fixtures.faults.kinds import elections, process, shapes
from strategies import groups as do
from strategies.steps import AddPartitions, Disturb, DisturbBriefly, Heal

A, B, C = (do.JoinGroup(member=member, reads_from="both") for member in do.DYNAMIC)
HASTY = do.JoinGroup(member="member-1", reads_from="both", hasty=True)
AWAY = do.JoinGroup(member="static-1", reads_from="both")
CLASSIC = do.JoinGroup(member="eager-1", reads_from="both")
SETTLE, QUIET, BEAT = do.Settle(), do.BeatQuietly(), do.Beat()
BEAT_B = do.Beat(member="member-2")
MOVE = DisturbBriefly(on="group-1", fault=elections.MoveLeader())
COMMIT, LATE = do.Commit(), do.Commit(held_back=True)
OLDER = do.Commit(epoch="previous")
FETCH = do.FetchOffsets(anonymous=True)
ALL_BUT_NONE = do.Subscribe(reads_from="nowhere")
OFFSETS_OPEN: list[do.GroupStep] = [A, do.CommitInTransaction()]
SHORT = do.AlterGroup(setting="session")
DESCRIBE = do.DescribeGroups()
ISOLATED = Disturb(on="group-1", fault=shapes.Isolate(role="leader", clients_too=False), follow=False)

BEAT_CLASSIC = do.Beat(member="eager-1")
MIXED: list[do.GroupStep] = [CLASSIC, A, SETTLE]
"""A classic member and one of the consumer protocol."""
SHARED: list[do.GroupStep] = [A, SETTLE, B, QUIET]
"""Two members, of which the first was told to give up partitions and has not."""

SCHEDULES: dict[str, list[do.GroupStep]] = {
    "pending-given-away": [*SHARED, BEAT_B],
    "pending-lost-at-load": [*SHARED, MOVE, BEAT_B],
    "away-instance-robbed": [AWAY, SETTLE, do.LeaveToReturn(), B, SETTLE, do.Beat(member="static-1")],
    "classic-owner-ignored": [CLASSIC, A, BEAT],
    "given-up-by-silence": [*SHARED, QUIET, BEAT_B],
    "shared-epoch": [*SHARED, BEAT, BEAT_B],
    "assignment-epoch-ahead": [A],
    "target-epoch-ahead": [A],
    "epoch-one-behind-at-load": [A, B, SETTLE, MOVE, SETTLE],
    "generation-starts-again": [
        CLASSIC,
        A,
        B,
        SETTLE,
        do.LeaveGroup(member="member-2"),
        SETTLE,
        do.LeaveGroup(),
        SETTLE,
    ],
    "converges-never": [A, B, SETTLE],
    "last-partition-unassigned": [A, SETTLE],
    "growth-unseen": [A, SETTLE, AddPartitions(on="narrow", total=5), SETTLE],
    "old-epochs-commit": [A, SETTLE, LATE, ALL_BUT_NONE, BEAT, B, SETTLE, do.ReleaseCommit(), FETCH],
    "third-epoch-refused": [A, B, SETTLE, C, SETTLE, COMMIT, do.Commit(member="member-3")],
    "older-epoch-refused": [A, B, SETTLE, OLDER],
    "pending-may-not-commit": [A, B, SETTLE, C, QUIET, do.Commit(of="to-give-up", epoch="first-owned")],
    "assignment-epoch-renewed": [A, B, SETTLE, OLDER],
    "assignment-epoch-renewed-at-load": [A, B, SETTLE, MOVE, OLDER],
    "refused-commit-logged": [A, B, SETTLE, do.Commit(of="lost", epoch="previous")],
    "third-commit-lost": [A, SETTLE, COMMIT, COMMIT, COMMIT, FETCH],
    "open-offsets-lost-at-load": [*OFFSETS_OPEN, MOVE, do.EndOpenTransaction(), FETCH],
    "late-marker-wins": [*OFFSETS_OPEN, COMMIT, do.EndOpenTransaction(), FETCH],
    "newer-epoch-granted": [A, do.BeatAt(epoch="beyond")],
    "newer-epoch-commits": [A, do.Commit(epoch="beyond")],
    "fetch-without-epoch": [A, do.FetchOffsets(epoch="beyond")],
    "epoch-of-the-first-topic": [
        do.JoinGroup(reads_from="wide"),
        do.JoinGroup(member="member-2", reads_from="narrow"),
        BEAT,
        do.Commit(of="never-owned", epoch="first-owned"),
        do.Commit(of="never-owned", epoch="previous", pick=1),
    ],
    "third-epoch-fenced": [A, B, SETTLE, C, SETTLE],
    "rebalance-timer-stays": [HASTY, B, SETTLE],
    "timers-by-member-id": [
        do.AlterGroup(on="group-2", setting="session"),
        do.JoinGroup(known_id=True),
        do.JoinGroup(on="group-2", known_id=True),
        do.OutlastSession(on="group-2"),
        BEAT,
    ],
    "joins-once": [A, do.Rejoin()],
    "classic-members-forgotten-at-load": [*MIXED, MOVE, BEAT_CLASSIC],
    "syncs-refused-after-load": [*MIXED, MOVE, B, BEAT_CLASSIC],
    "taken-for-classic-at-load": [*MIXED, MOVE, BEAT],
    "session-ends-early": [SHORT, A, B, do.OutlastSession()],
    "aborted-group-offset-kept": [A, do.CommitInTransaction(), do.EndOpenTransaction(commit=False), FETCH],
    "tombstone-ignored": [A, B, SETTLE, do.LeaveGroup(member="member-2"), SETTLE, MOVE, DESCRIBE],
    "classic-not-told": [CLASSIC, A, SETTLE],
    "answered-before-replicated": [A, SETTLE, ISOLATED, COMMIT, COMMIT, FETCH, Heal(), FETCH],
    "shares-change-hands": [A, B, SETTLE, DESCRIBE, do.Subscribe(reads_from="both-and-none"), SETTLE, DESCRIBE],
    "described-one-ahead": [A, B, SETTLE, DESCRIBE],
}

LEGAL: dict[str, list[do.GroupStep]] = {
    "a member is removed after its session, and another one has its partitions": [
        SHORT,
        A,
        B,
        SETTLE,
        COMMIT,
        do.OutlastSession(),
        SETTLE,
        do.Commit(member="member-2"),
        do.Wake(),
        FETCH,
    ],
    "a member is removed after its rebalance timeout": [HASTY, B, QUIET, do.OutlastRebalance(), do.Round(), SETTLE],
    "a partition moves and comes back within one ownership": [
        *SHARED,
        LATE,
        do.LeaveGroup(member="member-2"),
        BEAT,
        do.ReleaseCommit(),
        SETTLE,
        COMMIT,
        FETCH,
    ],
    "a member commits at its epoch what it does not own": [
        A,
        B,
        SETTLE,
        do.Commit(of="lost"),
        do.Commit(member="member-2", of="never-owned"),
        FETCH,
        COMMIT,
        FETCH,
    ],
    "a classic member is in a rebalance that goes on": [
        CLASSIC,
        do.JoinGroup(member="cooperative-1", reads_from="both"),
        do.LoseSync(member="cooperative-1"),
        do.Commit(member="eager-1"),
        do.Commit(member="eager-1", epoch="previous"),
        A,
        do.Commit(member="eager-1"),
        do.Round(),
        SETTLE,
    ],
    "an instance is away with a revocation pending": [
        AWAY,
        SETTLE,
        do.Commit(member="static-1", held_back=True),
        B,
        do.BeatQuietly(member="static-1"),
        do.LeaveToReturn(),
        C,
        do.Round(),
        MOVE,
        do.ReleaseCommit(),
        do.Beat(member="static-1"),
        SETTLE,
    ],
    "up, down and up again, with a load at each rung": [
        CLASSIC,
        MOVE,
        A,
        SETTLE,
        MOVE,
        do.LeaveGroup(),
        do.Beat(member="eager-1"),
        MOVE,
        B,
        SETTLE,
    ],
    "instances change their protocol": [
        AWAY,
        SETTLE,
        do.LeaveToReturn(),
        do.JoinGroup(member="eager-static-1", reads_from="both"),
        SETTLE,
        do.Beat(member="static-1"),
        do.Beat(member="eager-static-1"),
        SETTLE,
    ],
    "a log is compacted in the middle of a rebalance, then loaded": [
        A,
        AWAY,
        SETTLE,
        do.CompactLog(),
        B,
        QUIET,
        do.Commit(partitions=3),
        do.LeaveGroup(member="static-1"),
        do.Round(),
        do.Commit(partitions=3),
        DESCRIBE,
        MOVE,
        do.Round(),
        do.FetchOffsets(),
        do.CompactLog(stop=True),
    ],
    "a coordinator is killed with a revocation and offsets open": [
        *SHARED,
        do.CommitInTransaction(of="to-give-up"),
        Disturb(on="group-1", fault=process.Kill(role="leader")),
        do.Round(),
        do.EndOpenTransaction(commit=False),
        Heal(),
        SETTLE,
        FETCH,
    ],
}
