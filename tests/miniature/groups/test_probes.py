"""Probes of groups on the miniature: each holds there, and sees the bug for which it was mended."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.checks import Check
from conformance.kip1251 import group_epochs, migration, refused_commits
from conformance.kip1251.coordinator_failures import (
    restarted_coordinator_keeps_what_is_to_be_given_up as kept_over_a_load,
)
from conformance.kip1251.departed_static_members import silent_static_member_is_removed
from conformance.kip1251.group_epochs import epochs_survive_a_fail_over, stored_epochs_are_ordered
from conformance.kip1251.heartbeats import other_epochs_are_fenced
from conformance.kip1251.migration import loaded_classic_member_keeps_its_generation, loaded_downgraded_group_is_strict
from conformance.kip1251.mixed_members import a_partition_has_one_owner
from conformance.kip1251.needless_rebalances import nothing_moves
from conformance.kip1251.ownership import (
    assignment_behind_the_group_has_the_target_epoch,
    kept_partition_keeps_its_epoch,
    member_that_keeps_a_partition_is_removed,
    owners_never_share_an_epoch,
    partition_is_given_once_it_is_free,
    partition_that_came_back_before_a_fail_over,
    partitions_of_a_silent_member_are_given_once_its_session_ended,
)
from conformance.kip1251.refused_commits import (
    refused_commit_is_not_stored,
    refused_commit_is_unknown_to_the_next_coordinator,
)
from tests.miniature.groups.played import PlayedLog, play, results

BACK = {"bumps": 2, "later": 1, "offset": 5, "how": "kill"}
FENCED = {"bumps": 1, "distance": 1}
LOADED = {"bumps": 1, "waits": 2, "offset": 40}
REFUSED = {"wrongs": ["older-epoch"] * 6, "ahead": 1, "offset": 4}
UNEVEN = {"others": 2, "rounds": 4, "partitions": 7}


@pytest.mark.parametrize(
    ("check", "inputs", "case", "partitions", "bug", "row"),
    [
        (kept_partition_keeps_its_epoch, {"steps": 4, "offset": 5}, "topics", 4, "renewed-by-growth", "KIP1251-AE-01"),
        (assignment_behind_the_group_has_the_target_epoch, {"later": 2, "offset": 5}, "first", 4,
         "given-at-the-group-epoch", "KIP1251-AE-02"),
        (partition_is_given_once_it_is_free, {"bumps": 1, "waits": 6}, "removed", 4, "rebalance-ends-early",
         "KIP1251-BASE-02"),
        (partitions_of_a_silent_member_are_given_once_its_session_ended, {"bumps": 1}, "", 4, "session-ends-early",
         "KIP1251-BASE-02"),
        (owners_never_share_an_epoch, {"bumps": 1, "leaves": False}, "subscription", 4, "shared-epoch", "KIP1251-BASE-03"),
        (other_epochs_are_fenced, FENCED, "older-epoch", 4, "fenced-members-leave", "KIP1251-BASE-04"),
        (other_epochs_are_fenced, FENCED, "owned-larger", 4, "fenced-members-leave", "KIP1251-BASE-04"),
        (member_that_keeps_a_partition_is_removed, {"bumps": 1, "offset": 5}, "", 4, "rebalance-ends-early",
         "KIP1251-BASE-05"),
        (epochs_survive_a_fail_over, {"bumps": [1, 2, 1], "how": "kill"}, "fail-over", 4, "epoch-one-behind-at-load",
         "KIP1251-BASE-08"),
        (partition_that_came_back_before_a_fail_over, BACK, "owned-between", 4, "old-epochs-commit", "KIP1251-COMMIT-08"),
        (partition_that_came_back_before_a_fail_over, BACK, "unowned-between", 4, "old-epochs-commit",
         "KIP1251-COMMIT-08"),
        (refused_commit_is_unknown_to_the_next_coordinator, REFUSED, "", 6, "refused-commit-logged", "KIP1251-COMMIT-13"),
        (kept_over_a_load, LOADED, "restart", 12, "pending-lost-at-load", "KIP1251-PERSIST-01"),
        (kept_over_a_load, LOADED, "kill", 12, "away-instance-robbed", "KIP1251-PERSIST-01"),
        (silent_static_member_is_removed, {"bumps": 1, "offset": 4}, "", 4, "session-ends-early", "KIP1251-STATIC-07"),
        (loaded_classic_member_keeps_its_generation, {"rejoins": 1, "partition": 0, "offset": 4}, "", 4,
         "classic-members-forgotten-at-load", "KIP1251-UPG-01"),
        (nothing_moves, UNEVEN, "subscription", 4, "uneven-shares-change-hands", "GEN-14"),
    ],
)  # fmt: skip
def test_probe_sees_the_bug(
    check: Check,
    inputs: dict[str, Any],
    case: str,
    partitions: int,
    bug: str,
    row: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_epochs, "GroupLog", PlayedLog)
    without = play(check, inputs, case=case, partitions=partitions)
    assert (without.end, without.detail, results(without)) == ("judged", "", set())
    assert row in {held for held, _ in results(without, "held")}
    assert row in {violated for violated, _ in results(play(check, inputs, bug, case=case, partitions=partitions))}


@pytest.mark.parametrize("loads", [0, 1, 3])
def test_what_has_to_be_given_up_is_free_for_nobody_after_a_load(loads: int) -> None:
    changes = ["consumer", "classic", "consumer"]
    inputs = {"changes": changes, "cooperative": True, "lost": False, "loads": loads}
    outcome = play(a_partition_has_one_owner, inputs, partitions=12)
    assert (outcome.detail, results(outcome)) == ("", set())
    robbed = play(a_partition_has_one_owner, inputs, "pending-lost-at-load", partitions=12)
    assert ("KIP1251-UPG-04", "single-owner") in results(robbed)


def test_a_loaded_classic_member_may_commit_what_it_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "GroupLog", PlayedLog)
    check, inputs = migration.loaded_classic_member_below_its_epoch, {"rejoins": 1, "offset": 5}
    assert results(play(check, inputs)) == set()
    assert ("KIP1251-UPG-02", "kept") in results(play(check, inputs, "assignment-epoch-renewed-at-load"))


def test_an_even_number_of_partitions_hides_what_an_uneven_one_shows() -> None:
    even = play(nothing_moves, UNEVEN | {"partitions": 12}, "uneven-shares-change-hands", case="subscription")
    assert results(even) == set()


def test_a_downgraded_group_is_strict_after_a_load_too() -> None:
    outcome = play(loaded_downgraded_group_is_strict, {"rejoins": 1, "offset": 40})
    assert (outcome.end, results(outcome)) == ("judged", set())


def test_an_older_epoch_that_is_refused_and_logged_is_seen_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refused_commits, "GroupLog", PlayedLog)
    inputs = REFUSED | {"wrongs": ["newer-epoch", "older-epoch"]}
    assert results(play(refused_commit_is_not_stored, inputs)) == set()
    assert ("KIP1251-COMMIT-13", "log") in results(play(refused_commit_is_not_stored, inputs, "refused-commit-logged"))


def test_a_record_above_the_target_or_group_epoch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_epochs, "GroupLog", PlayedLog)
    inputs = {"changes": ["bump", "join", "bump", "leave"]}
    outcome = play(stored_epochs_are_ordered, inputs)
    assert (outcome.detail, results(outcome)) == ("", set())
    assert ("KIP1251-AE-03", "record") in results(play(stored_epochs_are_ordered, inputs, "target-logged-last"))
