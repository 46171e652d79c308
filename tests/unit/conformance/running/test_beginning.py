"""The schedules of a hunt with which the parts of a machine begin."""

from __future__ import annotations

import msgspec
import pytest

from conformance.machines.log.machine import LOG_MACHINE
from conformance.running.evidence.folder import Schedule
from conformance.running.machine.beginning import Beginning
from tests.support.fake_lab import COLUMN


@pytest.mark.parametrize(
    ("turn", "played"), [(0, [["quick", "another"], ["log-quorum"], ["lagging"]]), (3, [["lagging"], [], ["quick"]])]
)
def test_a_schedule_is_played_on_a_cluster_as_it_was_recorded_on(turn: int, played: list[list[str]]) -> None:
    """Parts have quick, log-quorum and lagging; after three turns log-prompt, log-directories and quick."""
    one = Schedule(check=LOG_MACHINE.id, column=COLUMN, requirement="KIP320-FETCH-02", steps=[])
    names = ["quick", "log-quorum", "lagging", "another"] if turn == 0 else ["lagging", "quick"]
    whole = Beginning(turn=turn, schedules=[msgspec.structs.replace(one, topology=name) for name in names])
    parts = [whole.for_part(LOG_MACHINE, part, 3) for part in (1, 2, 3)]
    assert [[schedule.topology for schedule in part.schedules] for part in parts] == played
