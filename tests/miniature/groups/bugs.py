"""Bugs of group coordinators: their effects, and the rows and labels under which judges must find them."""

from __future__ import annotations

from tests.miniature.bugs import Bug, by_name, of_row

BUGS: dict[str, Bug] = by_name(
    of_row(
        "KIP1251-INV-08",
        ("pending-given-away", "what a member still has to give up is free for others", "two-owners"),
        ("pending-lost-at-load", "the next coordinator takes a pending revocation for done", "two-owners"),
        ("away-instance-robbed", "the partitions of an instance that is away are free for others", "two-owners"),
        also=("KIP1251-BASE-02", "KIP1251-BASE-03", "KIP1251-INV-10", "KIP1251-INV-12", "GEN-13"),
    ),
    of_row(
        "KIP1251-UPG-04",
        ("classic-owner-ignored", "what a classic member has is free for others", "two-owners"),
        also=("KIP1251-INV-08", "KIP1251-BASE-02"),
    ),
    of_row(
        "KIP1251-BASE-02",
        (
            "given-up-by-silence",
            "a heartbeat that names no partitions acknowledges a revocation",
            "given-too-early",
        ),
        also=("KIP1251-INV-08", "KIP1251-BASE-03"),
    ),
    of_row(
        "KIP1251-BASE-03",
        ("shared-epoch", "who is given a partition stays at its epoch", "shared-epoch"),
        also=("KIP1251-BASE-09", "KIP1251-INV-12", "KIP1251-AE-03", "KIP1251-INV-10"),
    ),
    of_row(
        "KIP1251-AE-03",
        ("assignment-epoch-ahead", "a partition is given with the epoch after the member's", "epoch-order"),
        ("target-epoch-ahead", "the epoch of a target assignment is one above the group's", "epoch-order"),
        also=("KIP1251-INV-10", "KIP1251-BASE-08", "KIP1251-BASE-09", "KIP360-INV-12", "GEN-06"),
    ),
    of_row(
        "KIP1251-BASE-08",
        ("epoch-one-behind-at-load", "the next coordinator takes the group for one epoch older", "epoch-regression"),
        ("generation-starts-again", "a group that is downgraded begins with generation 1", "epoch-regression"),
        also=("KIP360-INV-12", "KIP1251-INV-12", "KIP1251-INV-13", "KIP1251-INV-10", "GEN-13", "KIP1251-AE-03"),
    ),
    of_row(
        "KIP1251-BASE-09",
        ("converges-never", "in a group with two members none reaches the group epoch", "stuck-group"),
        (
            "last-partition-unassigned",
            "the last partition of all topics is assigned to no member",
            "unassigned-partition",
        ),
        ("classic-not-told", "no classic member is told that it has to rejoin", "stuck-group"),
        ("growth-unseen", "more partitions of a topic change no group epoch", "unassigned-partition"),
        also=("KIP1251-BASE-03",),
    ),
    of_row(
        "KIP1251-INV-09",
        ("old-epochs-commit", "a member commits at any older epoch for any partition", "zombie-offset"),
        also=("KIP1251-INV-12",),
    ),
    of_row(
        "KIP1251-INV-10",
        ("third-epoch-refused", "at every third epoch a member may not commit", "spurious-refusal"),
        ("older-epoch-refused", "at older epochs a member may not commit at all", "spurious-refusal"),
        (
            "pending-may-not-commit",
            "what a member has to give up it may not commit at older epochs",
            "spurious-refusal",
        ),
        ("assignment-epoch-renewed", "each new epoch of a member is the assignment epoch of all", "spurious-refusal"),
        ("assignment-epoch-renewed-at-load", "loading renews the assignment epochs of all members", "spurious-refusal"),
        also=("KIP1251-INV-12",),
    ),
    of_row(
        "KIP1251-INV-11",
        (
            "refused-commit-logged",
            "a commit that is refused for its epoch is in the log all the same",
            "refused-commit",
        ),
        ("answered-before-replicated", "commits are answered before any follower has them", "lost-commit"),
        ("third-commit-lost", "every third offset is acknowledged, and not kept", "lost-commit"),
        ("late-marker-wins", "an offset in a transaction replaces one that was committed after it", "lost-commit"),
        also=("KIP101-INV-19", "KIP320-OC-03", "KIP360-INV-06", "GEN-01"),
    ),
    of_row(
        "KIP1251-INV-12",
        ("newer-epoch-granted", "a heartbeat at a newer epoch than the member's is granted", "wrong-answer"),
        ("newer-epoch-commits", "a commit at a newer epoch than the member's is granted", "wrong-answer"),
        ("fetch-without-epoch", "the epoch of an OffsetFetch is not looked at", "wrong-answer"),
        (
            "epoch-of-the-first-topic",
            "assignment epochs are looked up by partition, whatever the topic",
            "wrong-answer",
        ),
    ),
    of_row(
        "KIP1251-INV-13",
        ("third-epoch-fenced", "at every third epoch a member is fenced", "honest-member-removed"),
        ("rebalance-timer-stays", "the rebalance timeout goes on after the acknowledgement", "honest-member-removed"),
        ("timers-by-member-id", "a session ends for a member id, whatever its group", "honest-member-removed"),
        ("joins-once", "a member that is known may not join again", "honest-member-removed"),
        (
            "classic-members-forgotten-at-load",
            "the next coordinator takes classic members for members of the consumer protocol",
            "honest-member-removed",
        ),
        (
            "syncs-refused-after-load",
            "a classic member that was loaded may rejoin, but gets no assignment",
            "honest-member-removed",
        ),
        (
            "taken-for-classic-at-load",
            "the next coordinator takes a group with a classic member for a classic one, and refuses heartbeats",
            "honest-member-removed",
        ),
        ("session-ends-early", "a session ends after a quarter of its timeout", "removed-too-early"),
        also=("KIP1251-INV-12", "KIP1251-INV-10"),
    ),
    of_row(
        "GEN-14",
        ("shares-change-hands", "at every second group epoch members change shares", "moved-for-nothing"),
    ),
    of_row(
        "KIP360-INV-06",
        ("open-offsets-lost-at-load", "the next coordinator does not know offsets of open transactions", "lost-offset"),
    ),
    of_row(
        "GEN-14",
        ("shares-change-hands", "at every second group epoch members change shares", "moved-for-nothing"),
    ),
    of_row(
        "KIP360-INV-06",
        ("aborted-group-offset-kept", "an offset of a transaction that was aborted is kept", "aborted-offset"),
    ),
    of_row(
        "GEN-13",
        ("tombstone-ignored", "the next coordinator has members that have left", "other-than-logged"),
        ("described-one-ahead", "a group of several members is described one epoch ahead", "other-than-logged"),
        also=("KIP1251-BASE-09", "GEN-06", "KIP1251-BASE-08", "KIP360-INV-12"),
    ),
)
