"""Effects of faults: what they say of a process and a disk, and the frozen table for older histories."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fixtures.faults.catalogue import FAULTS
from history.effects import Effects
from history.legacy import TABLE, legacy_effects

ROOT = Path(__file__).parents[3]
READERS = (*ROOT.glob("conformance/judging/**/*.py"), *ROOT.glob("reports/**/*.py"))
ACTIONS = {"kill", "pause", "stop"}
"""Operations on nodes that go by the names of faults: their calls get no line, since the fault does."""


def literals(path: Path) -> set[str]:
    constants = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_judge_and_no_report_knows_a_fault_by_its_name(path: Path) -> None:
    assert literals(path) & TABLE.keys() <= (ACTIONS if path.name == "narration.py" else set())


def test_every_fault_of_the_catalogue_that_older_histories_may_hold_is_in_the_table() -> None:
    # Always written with their effects.
    since = {
        "failed-disk",
        "forget-producers",
        "freeze",
        "remove-rebuilt-file",
        "remove-replica",
        "torn-producer-snapshot",
    }
    assert {str(fault.__struct_config__.tag) for fault in FAULTS} - since <= TABLE.keys()


def test_a_tag_that_is_not_in_the_table_may_have_restarted_a_process() -> None:
    assert legacy_effects("of another time", {}) == Effects(process="may-restart")


def test_an_unclean_election_of_the_faults_own_topic_is_none_of_the_partition() -> None:
    assert legacy_effects("unclean-election", {"own_topic": False}).elects_uncleanly
    assert not legacy_effects("unclean-election", {"own_topic": True}).elects_uncleanly


def of(**wanted: bool) -> set[str]:
    return {
        tag for tag, effects in TABLE.items() if all(getattr(effects, name) == is_so for name, is_so in wanted.items())
    }


def test_processes_that_idle_until_the_fault_is_healed() -> None:
    lost = {"cut-tail-above", "cut-tail-below", "flip-bytes", "wipe-disk"}
    files = {"remove-epoch-checkpoint", "cut-epoch-checkpoint", "old-epoch-checkpoint", "remove-index-files"}
    assert of(idles=True) == {"kill", "stop", "pause-past-fencing", *lost, *files}
    assert of(damages_log=True) == lost
    assert of(loses_epochs=True) == files - {"remove-index-files"}


def test_processes_that_end() -> None:
    assert of(crashes=True) == {"kill", "cut-tail-above"}
    assert of(restarts=True) == of(idles=True) - {"pause-past-fencing"} | {"rolling-restart", "upgrade"}
    unknown = {"clock-shift", "full-disk", "lose-quorum-state", "failed-directory", "remove-watermark-checkpoint"}
    assert of(begins_incarnation=True, restarts=False) == {*unknown, "unclean-election", "unclean-election-by-config"}


def test_what_becomes_of_leaders_log_starts_and_replicas() -> None:
    assert of(elects_uncleanly=True) == {"unclean-election", "unclean-election-by-config"}
    assert of(moves_log_start=True) == {"delete-records", "retention-by-size", "retention-by-time", "clock-shift"}
    assert of(start_inside_segment=True) == {"delete-records"}
    assert of(moves_replicas=True) == {"reassignment"}
    assert of(stands=False) == {"leader-move"}
