"""The log machine's whole run on a miniature with a planted bug: thirty steps are judged while they run, shrunk and replayed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from conformance.machines.log.machine import LOG_MACHINE, OPENING
from conformance.running.machine import run as machine_run
from conformance.running.machine.run import MachineRun
from fixtures.runs import Run
from history.shards import ReplayLine, read_shards
from strategies.log import LogStep
from strategies.steps import Disturb, Heal
from tests.miniature.lab import MiniLab
from tests.miniature.log.bugs import BUGS
from tests.miniature.log.schedules import SCHEDULES

pytestmark = pytest.mark.drawn

STEPS = 30


def amid_others(core: list[LogStep]) -> list[LogStep]:
    """Return the steps that meet the bug, spread over a schedule of harmless steps."""
    others = [step for step in OPENING if not isinstance(step, Disturb | Heal)]
    schedule: list[LogStep] = [others[n % len(others)] for n in range(STEPS - len(core))]
    for number, step in enumerate(core):
        schedule.insert((number + 1) * STEPS // (len(core) + 1), step)
    return schedule


@pytest.mark.parametrize("name", ["restamping-follower", "rewritten-while-copied"])
def test_a_long_schedule_that_meets_a_bug_becomes_short(
    name: str, tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(machine_run.DRAWN_EXAMPLES, "quick", 0)
    check = msgspec.structs.replace(LOG_MACHINE, opening=amid_others(SCHEDULES[name]))
    with Run.begin() as run:
        lab = MiniLab(tmp_path, run, (name,))
        MachineRun(check, lab, "4.3.1").run()
        lab.close()
    [shard] = read_shards(tmp_path / "shards")
    replays = [line for line in shard.lines if isinstance(line, ReplayLine)]
    assert {line.requirement for line in replays} & set(BUGS[name].rows)
    assert all((line.seen, line.tries) == (5, 5) for line in replays)
    course = (tmp_path / replays[0].evidence / "course.md").read_text()
    assert 1 <= course.count("**Step ") <= 6
