"""Epochs along the metadata log, and in the files beside it."""

from __future__ import annotations

import pytest

from conformance.judging.judge import judge_history
from conformance.judging.quorum.log_epochs import epoch_files_agree_with_the_log, epochs_in_a_log_never_decrease
from tests.support.metadata_log_pairs import alone
from tests.support.metadata_logs import LOG, MetadataLogHistory

CACHE, STATE = "epoch-checkpoint", "quorum-state"


def results(history: MetadataLogHistory) -> dict[str, str]:
    """The results of both files, by case."""
    judged = judge_history([epoch_files_agree_with_the_log], history.history)
    return {one.case: one.result for one in judged.observations} | {one.case: one.excuse for one in judged.excuses}


FILES: dict[str, tuple[MetadataLogHistory, dict[str, str]]] = {
    "both agree": (alone(), {CACHE: "held", STATE: "held"}),
    "an entry of a leader that has not written yet": (
        alone(epochs={1: 0, 2: 5, 3: 10}),
        {CACHE: "held", STATE: "held"},
    ),
    "an entry of an epoch without a batch": (alone(epochs={1: 0, 2: 5, 3: 7}), {CACHE: "violated", STATE: "held"}),
    "an epoch that begins elsewhere": (alone(epochs={1: 0, 2: 6}), {CACHE: "violated", STATE: "held"}),
    "an epoch is missing": (alone(epochs={1: 0}), {CACHE: "violated", STATE: "held"}),
    "a log that begins with a snapshot, within an epoch": (
        alone(LOG[3], epochs={2: 6}),
        {CACHE: "held", STATE: "held"},
    ),
    "records before a snapshot were removed, and not yet their files": (
        alone(epochs={1: 1, 2: 5}, snapshots=[(1, 1, "a")]),
        {CACHE: "held", STATE: "held"},
    ),
    "all records of an epoch were removed": (
        alone(epochs={2: 5}, snapshots=[(1, 1, "a"), (5, 1, "b")]),
        {CACHE: "held", STATE: "held"},
    ),
    "a cache that begins at no snapshot": (
        alone(epochs={1: 1, 2: 5}, snapshots=[(5, 1, "a")]),
        {CACHE: "violated", STATE: "held"},
    ),
    "a later epoch is missing behind a snapshot": (
        alone(epochs={1: 1}, snapshots=[(1, 1, "a")]),
        {CACHE: "violated", STATE: "held"},
    ),
    "quorum-state of a later epoch": (alone(state=7), {CACHE: "held", STATE: "held"}),
    "quorum-state of an older epoch": (alone(state=1), {CACHE: "held", STATE: "violated"}),
    "files that changed meanwhile": (
        alone(epochs={1: 0}, state=1, steady=False),
        {CACHE: "epoch-files-changed", STATE: "epoch-files-changed"},
    ),
    "an empty log": (MetadataLogHistory().reads_log(101, state=7), {}),
}


@pytest.mark.parametrize("name", FILES)
def test_files_agree_with_the_log(name: str) -> None:
    history, found = FILES[name]
    assert results(history) == found


DAMAGED = {
    "empty": b"",
    "two lines": b'{"leaderId":-1,"leaderEpoch":1,"votedId":-1,"data_version":0}\n' * 2,
    "an unknown version": b'{"leaderId":-1,"leaderEpoch":1,"votedId":-1,"data_version":9}',
}


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_quorum_state_equals_nothing(content: str) -> None:
    assert results(alone(state=DAMAGED[content])) == {CACHE: "held"}


def test_epochs_in_a_log_never_decrease() -> None:
    judged = judge_history([epochs_in_a_log_never_decrease], alone((0, 0, 2), (1, 4, 1)).history)
    [found] = judged.observations
    assert (found.case, found.result) == ("batches", "violated")
    assert "the batch at offset 1 follows one of epoch 2 and has epoch 1" in found.detail
