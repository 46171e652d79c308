"""The folder of a violation: in words, cut to its time, and open about what is missing."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.judging.narration import MAX_LENGTH, Narration, leaders_before, step_in_words
from conformance.running.evidence import on_disk as stored
from conformance.running.evidence.folder import (
    NO_PROMISE,
    NOT_KNOWN,
    ReplayResult,
    Schedule,
    add_replays,
    write_evidence,
)
from conformance.running.evidence.violation import violation_history
from fixtures.errors import EngineTrouble
from history.events import End, History, Note
from history.observations import Observation
from history.steps import STEP_NOTE, steps_taken
from history.subjects import Subject
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.sample_evidence import COLUMN, DISKS, PARTITION, FakeCluster, FakeTranscript, standing_of

SUBJECT = Subject("partition", PARTITION)


def recorded_history() -> LogHistory:
    """A leader without a fence, with a step before each request."""
    history = LogHistory()
    history.events.append(
        Note(n=0, t=0.0, text=STEP_NOTE, data={"kind": "produce", "step": {"acks": -1, "do": "produce"}})
    )
    history.settled(leader=1, epoch=3).produce(1, "a", "b", at=0)
    n = len(history.events)
    history.events.append(
        Note(n=n, t=float(n), text=STEP_NOTE, data={"kind": "read", "step": {"do": "read", "on": "strict-0"}})
    )
    return history.settled(leader=1, epoch=3).fetch(1, stamped(3, 0, "a", "b"), epoch=2, hw=2)


def seen_in(history: History) -> Observation:
    return Observation(
        requirement="KIP101-INV-12",
        case="leader",
        result="violated",
        example="e-1",
        events=[history.events[-1].n],
        detail="broker-1 answered a fetch at epoch 2 with records of epoch 3",
        label="fence-leak",
    )


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, bytes]]:
    """Files as copied from the brokers' disks."""
    monkeypatch.setattr(
        stored, "copy_log_dirs", lambda nodes, *partitions: {node.name: DISKS.get(node.name, {}) for node in nodes}
    )
    return DISKS


def written(tmp_path: Path, history: History, **cluster: Any) -> Path:
    path = write_evidence(tmp_path, standing_of(FakeCluster(**cluster)), history, seen_in(history), 10.0, [])
    return tmp_path / path


@pytest.mark.parametrize(("row", "notice"), [("KIP1251-STATIC-01b", NO_PROMISE), ("KIP101-INV-12", NOT_KNOWN)])
def test_a_row_without_a_promise_is_no_news(tmp_path: Path, disks: Any, row: str, notice: str) -> None:
    history = whole(recorded_history())
    seen = msgspec.structs.replace(seen_in(history), requirement=row)
    path = write_evidence(tmp_path, standing_of(FakeCluster()), history, seen, 10.0, [])
    notices = json.loads((tmp_path / path / "violation.json").read_text())["notices"]
    assert [one for one in notices if one in (NO_PROMISE, NOT_KNOWN)] == [notice]


def whole(history: LogHistory) -> History:
    return History(example=history.example, events=history.events, end=End(example="e-1", outcome="judged"))


def test_the_course_tells_the_steps_with_what_happened_in_each(tmp_path: Path, disks: Any) -> None:
    folder = written(tmp_path, whole(recorded_history()))
    assert (folder / "report.md").read_text().startswith("# KIP101-INV-12: No future epochs (fence-leak)\n")
    course = (folder / "course.md").read_text()
    steps = course.split("**Step ")
    assert steps[1].startswith("1: produce, acks -1**")
    assert f"Produce {PARTITION} acks -1: 'a' 'b' -> appended at 0" in steps[1]
    assert steps[2].startswith(f"2: read, on strict-0** ({PARTITION}: broker-1 leads at epoch 3)")
    asked = f"broker-1  Fetch {PARTITION} from 0 current epoch 2 as consumer"
    assert f"{asked} -> log start 0, HW 2; [0-1 of epoch 3: 'a' 'b']" in steps[2]
    assert [line for line in course.splitlines() if line.startswith("->") and asked in line]


def test_a_violation_has_the_steps_subjects_and_leaders_of_its_history() -> None:
    history = whole(recorded_history())
    read = violation_history(COLUMN, history, seen_in(history))
    assert read.steps == tuple(steps_taken(history))
    assert read.about == (SUBJECT,)
    assert SUBJECT in read.subjects
    assert read.leaders == ({}, {SUBJECT: "broker-1 leads at epoch 3"})
    assert read.rest is None


def test_leaders_are_told_when_they_change(tmp_path: Path) -> None:
    history = LogHistory().settled(1, 3).settled(1, 3).metadata(2, leader=2, epoch=4).history
    lines = Narration(history, [SUBJECT]).lines()
    assert [line.split("Metadata -> ")[1].split(",")[0] for line in lines] == [
        *[f"{PARTITION} leader broker-1 at epoch 3"] * 3,
        f"{PARTITION} leader broker-2 at epoch 4",
    ]
    assert leaders_before(history, [SUBJECT], [0, 2, len(history.events)]) == [
        {},
        {SUBJECT: "broker-1 leads at epoch 3"},
        {SUBJECT: "broker-2 leads at epoch 4"},
    ]


def test_faults_and_refusals_have_their_names() -> None:
    history = LogHistory().refused(2, 3, Error.FENCED_LEADER_EPOCH, hint=(1, 4)).kill(1).at_rest().history
    refused, injected, shown, rest = Narration(history).lines()
    assert refused.endswith("-> FENCED_LEADER_EPOCH (74), leader 1 at epoch 4")
    assert injected.endswith("FAULT: kill of the leader of the partition, broker-1")
    assert "FAULT SHOWN: kill" in shown
    assert rest.endswith("premise met: at rest")


def test_what_nobody_answered_may_have_happened() -> None:
    [line] = Narration(LogHistory().produce(1, "a", lost=True).history).lines()
    assert line.endswith("-> Unanswered: no answer in 10 s (it may have happened)")


def test_reads_that_are_sent_in_turn_have_a_line_where_an_answer_differs() -> None:
    history = LogHistory()
    for end in (3, 3, 3, 4):
        history.earliest(1, 0).latest(1, end)
    assert [line.split()[-4] for line in Narration(history.history).lines()] == ["0", "3", "4"]


def test_a_write_that_is_repeated_after_another_has_its_own_line() -> None:
    history = LogHistory().trim(1, 2).trim(1, 3).trim(1, 2)
    assert len(Narration(history.history).lines()) == 3


def test_other_partitions_are_left_out_and_long_answers_cut() -> None:
    history = LogHistory().produce(1, *["v" * 20] * MAX_LENGTH, at=0).history
    assert Narration(history, [Subject("partition", "other-0")]).lines() == []
    [line] = Narration(history, [SUBJECT]).lines()
    assert len(line) < MAX_LENGTH + 80
    assert "more, in history.jsonl)" in line


def test_the_disks_are_kept_and_reported(tmp_path: Path, disks: dict[str, dict[str, bytes]]) -> None:
    folder = written(tmp_path, whole(recorded_history()))
    assert (folder / "disk" / "broker-1" / PARTITION / "leader-epoch-checkpoint").read_bytes() == b"0\n1\n3 0\n"
    report = (folder / "report.md").read_text()
    assert f"broker-1  {PARTITION}: 0 to 0; leader-epoch-checkpoint 3 from 0" in report
    assert f"broker-1 {PARTITION}: 0 to 0; leader-epoch-checkpoint 3 from 0" in (folder / "disks.txt").read_text()
    assert f"- the replica of {PARTITION} on broker-2: it has no such directory" in report


def test_logs_and_frames_are_those_of_the_time(tmp_path: Path, disks: Any) -> None:
    folder = written(tmp_path, whole(recorded_history()))
    assert (folder / "logs" / "controller-101.log").read_text() == "log of controller-101"
    assert len((folder / "transcript.jsonl").read_text().splitlines()) == 1


def test_what_could_not_be_collected_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disks: Any) -> None:
    monkeypatch.setattr(FakeTranscript, "forgotten_ns", int((time.time() - 7) * 1e9))

    def gone(*_: object) -> None:
        raise EngineTrouble("no helper")

    monkeypatch.setattr(stored, "copy_log_dirs", gone)
    report = (written(tmp_path, whole(recorded_history()), trouble=True) / "report.md").read_text()
    lacking = report.partition("Not collected:\n")[2]
    assert "- the log of broker-1: EngineTrouble: the engine has no such container\n" in lacking
    assert "- the disks: EngineTrouble: no helper\n" in lacking
    assert "- the frames of the first 3 s: a transcript has a limited size" in lacking


def test_the_replay_command_and_its_schedule_stand_beside(tmp_path: Path, disks: Any) -> None:
    folder = written(tmp_path, whole(recorded_history()))
    assert (
        folder / "replay.txt"
    ).read_text() == f"./kit pytest --kafka-version 4.3.1 --replay {folder}/schedule.json\n"
    schedule = msgspec.json.decode((folder / "schedule.json").read_bytes(), type=Schedule)
    assert (schedule.requirement, [step["do"] for step in schedule.steps]) == ("KIP101-INV-12", ["produce", "read"])


def test_what_replays_showed_is_entered(tmp_path: Path, disks: Any) -> None:
    folder = written(tmp_path, whole(recorded_history()))
    assert "Seen again: not replayed yet." in (folder / "report.md").read_text()
    add_replays(folder, ReplayResult(seen=4, tries=5, note="9 steps shrunk to 2."))
    assert "Seen again: 4 of 5 replays. 9 steps shrunk to 2.\n" in (folder / "report.md").read_text()
    assert not (folder / "shrunk.json").exists()
    add_replays(folder, ReplayResult(seen=0, tries=5, schedule=[{"do": "read"}]))
    assert json.loads((folder / "shrunk.json").read_text())["steps"] == [{"do": "read"}]


def test_steps_in_words() -> None:
    step = {"acks": -1, "do": "disturb", "fault": {"fault": "kill", "pick": 0, "role": "leader"}, "on": "strict-0"}
    assert step_in_words(step) == "disturb, acks -1, fault (kill, pick 0, role leader), on strict-0"
    assert step_in_words({"do": "heal"}) == "heal"
