"""report.md fits on two screens, whatever the history; course.md and the disks have the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.narration import Narration
from conformance.running.evidence.course import MAX_LINES, course_text
from conformance.running.evidence.disk_words import BATCHES, disk_lines_about
from conformance.running.evidence.report import WIDTH, insert_replays, report_text
from conformance.running.evidence.violation import violation_history
from history.events import Answer, History, Note
from history.observations import Observation
from history.steps import STEP_NOTE
from history.subjects import Subject
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.sample_evidence import COLUMN, PARTITION
from tests.support.stored_run import observed_by, stored_examples

LINES = 100
"""Two screens."""
REPLAY = f"./kit pytest --kafka-version 4.3.1 --replay /{'a-long-way/' * 12}schedule.json"
SENTENCE = "broker-2 was asked for records at epoch 3 and answered with those of epoch 4. " * 20
STRUCTURE = re.compile(r"\b[A-Z]\w+\(\w+=|<Error\.|case=")
"""The text of a Python structure."""


def observation(events: Sequence[int], detail: str = SENTENCE, row: str = "KIP101-INV-12") -> Observation:
    case = shipped_rows()[row].cases[0].id
    return Observation(requirement=row, case=case, result="violated", example="e-1", events=[*events], detail=detail)


def report(history: History, seen: Observation, disk: str = "", lacking: Sequence[str] = ()) -> str:
    read = violation_history(COLUMN, history, seen)
    notices = ["Some records are lost. " * 9, "Not known: no entry is about this."]
    return report_text(read, REPLAY, lacking, disk, notices)


def section(text: str, name: str) -> str:
    return text.partition(f"## {name}\n\n")[2].partition("\n## ")[0]


def assert_fits(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > WIDTH and "--replay" not in line] == []


def many_steps(count: int) -> LogHistory:
    """A thousand steps that write and read, and in the last one an answer that has no business there."""
    history = LogHistory().settled(leader=1, epoch=3)
    for number in range(count):
        n, step = len(history.events), {"do": "produce", "on": "strict-0", "records": number % 3}
        history.events.append(Note(n=n, t=float(n), text=STEP_NOTE, data={"kind": "produce", "step": step}))
        history.produce(1, f"value {number} {'long ' * 30}", at=number).latest(1, number)
        if number % 100 == 50:
            history.kill(2).heal("kill", 2)
    return history.fetch(1, *(stamped(4, n, "a" * 50) for n in range(30)), epoch=3, hw=1)


def test_a_thousand_steps_fit() -> None:
    history = many_steps(1000)
    shown = history.events[-1].n
    disk = "\n".join(f"broker-1 {PARTITION}: 0 to 9\n      {n}-{n} of epoch 3: {'x' * 200}" for n in range(900))
    text = report(
        history.history, observation([shown]), disk, [f"the log of broker-{n}: it is gone" for n in range(40)]
    )
    assert_fits(text)
    happened = section(text, "What happened")
    assert "10 of 2" in happened
    [decisive] = [line for line in happened.splitlines() if line.startswith("->")]
    assert f"[1000] broker-1  Fetch {PARTITION} from 0 current epoch 3 as consumer -> log start 0, HW 1" in decisive
    assert sum("FAULT: kill" in line for line in happened.splitlines()) == 3


def test_a_short_schedule_is_told_as_a_whole() -> None:
    history = many_steps(3)
    text = section(report(history.history, observation([history.events[-1].n])), "What happened")
    assert text.startswith("1. produce, on strict-0, records 0\n2. produce, on strict-0, records 1\n3. ")


def test_each_example_of_the_stored_run_would_fit() -> None:
    """A violation is planted in each: its last three exchanges show it."""
    for history in stored_examples():
        lines = [one.event.n for one in Narration(history).events() if one.node]
        text = report(history, observation(lines[-3:]))
        assert_fits(text)
        assert not lines or "\n->" in section(text, "What happened")


def test_the_violations_of_the_stored_run_fit_and_show_what_is_decisive() -> None:
    broken = [
        (history, one) for history in stored_examples() for one in observed_by(history) if one.result == "violated"
    ]
    assert broken
    for history, one in broken:
        text = report(history, one)
        assert_fits(text)
        [what, who] = shipped_rows()[one.requirement].title, one.detail.split()[0]
        assert text.startswith(f"# {one.requirement}: {what}")
        assert who in text.splitlines()[2]
        answers = [n for n in one.events if isinstance(history.events[n], Answer)]
        assert section(text, "What happened").count("\n->") == len(answers)
        # Texts of premises are recorded; those of these histories are older than their words.
        assert [line for line in text.splitlines() if STRUCTURE.search(line) and "premise met" not in line] == []


def test_it_says_what_it_is_what_is_lost_and_how_to_see_it_again() -> None:
    history = LogHistory().refused(2, 3, Error.FENCED_LEADER_EPOCH)
    text = report(history.history, observation([1], "broker-2 refused it.\nAnswer(error=74)"))
    assert text.splitlines()[2] == "broker-2 refused it."
    assert "Answer(" not in text
    assert section(text, "What a user would notice").startswith("Some records are lost. Some")
    assert "Not known: no entry is about this." in text
    assert section(text, "How to see it again") == f"    ./kit pytest --kafka-version 4.3.1 \\\n        {REPLAY[35:]}\n"
    linked = re.findall(r"\]\((.*?)\)", section(text, "Everything else"))
    assert linked == [
        "course.md", "violation.json", "schedule.json", "history.jsonl", "transcript.jsonl", "logs/", "disks.txt", "disk/",
    ]  # fmt: skip


def test_repeated_answers_have_their_number() -> None:
    history = LogHistory()
    for _ in range(14):
        history.refused(2, 3, Error.FENCED_LEADER_EPOCH)
    history.latest(2, 1)
    text = section(report(history.history, observation([history.events[-1].n])), "What happened")
    assert "FENCED_LEADER_EPOCH (74) (x 14)" in text


def test_a_long_exchange_keeps_both_its_request_and_its_answer() -> None:
    history = LogHistory().produce(1, "v" * 900, at=5)
    [line] = [line for line in report(history.history, observation([])).splitlines() if "Produce" in line]
    assert "… -> appended at 5" in line
    assert len(line) <= WIDTH


def test_the_replays_are_entered_and_entered_again() -> None:
    text = report(LogHistory().history, observation([]))
    once = insert_replays(text, f"4 of 5 replays. {'Smaller inputs. ' * 20}")
    assert "\nSeen again: 4 of 5 replays. Smaller" in once
    twice = insert_replays(once, "0 of 5 replays.")
    assert "\nSeen again: 0 of 5 replays.\n\n> " in twice
    assert twice == insert_replays(text, "0 of 5 replays.")


# --- the disks


def test_nodes_whose_replicas_are_alike_share_the_lines() -> None:
    disk = "\n".join(
        [
            "broker-1 t-0: 0 to 2", "    0.log, 5 bytes", "      0-1 of epoch 3, producer 7 epoch 0: 'a'",
            "broker-2 t-0: 0 to 2", "    0.log, 9 bytes", "      0-1 of epoch 3, producer 7 epoch 0: 'a'",
            "broker-3 t-0: 0 to 0",
        ]
    )  # fmt: skip
    assert disk_lines_about(disk, [Subject("partition", "t-0")]) == [
        "broker-1, broker-2  t-0: 0 to 2",
        "      0-1 of epoch 3, producer 7 epoch 0: 'a'",
        "broker-3  t-0: 0 to 0",
    ]
    assert disk_lines_about("", []) == []


@pytest.mark.parametrize(
    ("about", "kept"), [([Subject("producer", "7")], [3]), ([Subject("producer", "70")], [*range(20 - BATCHES, 20)])]
)
def test_the_batches_are_those_of_the_subjects_or_the_last(about: list[Subject], kept: list[int]) -> None:
    batches = [f"      {n}-{n} of epoch 3, producer {7 if n == 3 else 8} epoch 0: 'a'" for n in range(20)]
    found = disk_lines_about("\n".join(["broker-1 t-0: 0 to 20", "    0.log, 5 bytes", *batches]), about)
    assert found[1:-1] == [batches[n] for n in kept]
    assert found[-1] == f"      ({20 - len(kept)} more batches)"


def test_what_the_description_left_out_counts_and_a_torn_end_is_kept() -> None:
    lines = ["broker-1 t-0: 0 to 9", "    0.log, 5 bytes", "      8-8 of epoch 3: 'a'", "      and 20 of others"]
    torn = "      then 7 bytes that are no batch: too short"
    assert disk_lines_about("\n".join([*lines, torn]), [])[1:] == [lines[2], torn, "      (20 more batches)"]


# --- the course


def test_the_course_has_each_step_and_cuts_none_but_long_ones() -> None:
    history = many_steps(5)
    text = course_text(violation_history(COLUMN, history.history, observation([history.events[-1].n])))
    assert [f"**Step {n}: produce, on strict-0" in text for n in range(1, 7)] == [True] * 5 + [False]
    long = LogHistory()
    for n in range(3 * MAX_LINES):
        long.produce(1, f"v{n}", at=n)
    text = course_text(violation_history(COLUMN, long.history, observation([long.events[-1].n])))
    assert f"'v{3 * MAX_LINES - 1}' -> appended" in text
    assert "more lines: see history.jsonl)" in text
