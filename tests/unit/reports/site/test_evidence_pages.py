"""The page of a violation: what it says, what it draws, what it bounds, and that nothing a broker said gets out of its text."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.judging.narration import Narration
from history.events import Answer, Call, Fault, History
from history.subjects import Subject
from reports.matrix import Matrix, Pooled
from reports.site.evidence import NEAR, evidence_pages
from reports.site.evidence_folder import (
    EvidenceFolder,
    TranscriptFrame,
    is_readable,
    read_folder,
)
from reports.site.fault_spans import fault_spans, known_leaders
from reports.site.timeline import TimeLine, draw_timeline
from reports.site.transcript import LINES, began_at, log_view
from tests.support.histories import LogHistory
from tests.support.sample_evidence import PARTITION, shown_by, write_zombie, zombie
from tests.support.sample_matrix import ROW, all_cases, checks, matrix, violation

SHOWN = shown_by(zombie())


def about(path: str, **changed: Any) -> Matrix:
    fields = {
        "evidence": path,
        "events": SHOWN,
        "example": "e-1",
        "detail": "answered what it had passed",
        "label": "fence-leak",
    }
    line = violation("4.3.1", **(fields | changed))
    paths = [{"kafka_version": "4.3.1", "requirement": ROW, "path": path, "place": 1}]
    pooled = Pooled(cases=all_cases("4.3.1", violated=1), checks=[checks("4.3.1")], violations=[line], paths=paths)
    return matrix(pooled, "4.3.1")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


def page(run: Path, path: str, **changed: Any) -> str:
    pages = evidence_pages(about(path, **changed), run / "matrix", run)
    return (run / "matrix" / pages[path]).read_text()


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def drawn(history: LogHistory, *shown: int) -> TimeLine:
    found = history.history
    return draw_timeline(found, Narration(found, [Subject("partition", PARTITION)], shown).events(), [], PARTITION)


# --- what it says


def test_the_page_says_what_was_asked_and_what_was_seen(run: Path) -> None:
    text = plain(page(run, write_zombie(run)[0]))
    assert "Fetch topic-0 from 0 current epoch 3 as consumer ok log start 0" in text
    assert "answered what it had passed" in text
    assert "Seen again: 4 of 5 replays. 9 steps shrunk to 4." in text
    assert "s read, on strict-0, epochs back 1" in text
    assert f"--replay {run}/evidence/{ROW}/e-1/schedule.json" in text
    assert "the replica of topic-0 on broker-2: it has no such directory" in text


def test_pages_are_the_same_bytes_again_and_old_ones_go(run: Path) -> None:
    path, _ = write_zombie(run)
    first = page(run, path)
    stale = run / "matrix" / "evidence" / ROW / "gone.html"
    stale.write_text("old")
    assert page(run, path) == first
    assert not stale.exists()


def test_there_are_no_pages_of_what_cannot_be_read(run: Path) -> None:
    path, _ = write_zombie(run)
    outside = run.parent / "elsewhere"
    outside.mkdir()
    (run / "shards").mkdir()
    (run / "evidence" / ROW / "leads-out").symlink_to(outside)
    asked = [
        path,
        f"evidence/{ROW}/gone",
        "evidence/../shards",
        f"evidence/{ROW}/leads-out",
        "/etc/passwd",
        "histories/a",
    ]
    assert [is_readable(run, one) for one in asked] == [True, False, False, False, False, False]
    assert evidence_pages(about(path), run / "matrix", None) == {}
    assert evidence_pages(about("evidence/../shards"), run / "matrix", run) == {}


def test_what_shows_it_is_found_in_the_folder_where_the_matrix_does_not_tell(run: Path) -> None:
    path, events = write_zombie(run)
    folder = read_folder(run, path)
    assert folder.violation
    assert folder.violation.observation.events == events
    assert f'class="event ok shown" id="e{events[0]}"' in page(run, path, evidence="evidence/other/one")


def test_a_torn_folder_still_has_its_page(run: Path) -> None:
    path, _ = write_zombie(run)
    history = run / path / "history.jsonl"
    history.write_bytes(history.read_bytes()[:-300])
    (run / path / "transcript.jsonl").write_bytes(b"{")
    (run / path / "violation.json").unlink()
    os.truncate(run / path / "schedule.json", 20)
    text = plain(page(run, path))
    assert "and all after it are torn" in text
    assert "violation.json: No such file or directory" in text
    assert "the image is not known" in text


def test_brokers_cannot_write_into_the_page(run: Path) -> None:
    text = page(run, write_zombie(run, "</pre><script>alert(1)</script>\x1b[31m\u202e")[0])
    assert "<script>alert" not in text
    assert "<script>boo" not in text
    assert "<img src=x" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "&lt;img src=x" in text
    assert " style=" not in text
    assert " onclick=" not in text


def test_the_frames_are_those_of_the_event(run: Path) -> None:
    text = plain(page(run, write_zombie(run)[0])).partition("On the wire")[2].partition("What the nodes logged")[0]
    assert f"Event #{SHOWN[0]}" in text
    assert "sent Fetch v12 to broker-2" in text
    assert "received Fetch v12 from broker-2" in text
    assert '"asked": "fetch"' in text.replace("&#34;", '"')


def test_logs_are_cut_to_the_time(run: Path) -> None:
    text = plain(page(run, write_zombie(run)[0])).partition("What the nodes logged")[2]
    assert "starts at leader epoch 4" in text
    assert "long before" not in text
    assert "broker-2 2 lines of 3" in text


# --- bounds


def test_a_long_history_is_cut_around_what_shows_it(run: Path) -> None:
    story = LogHistory().settled(1, 3).kill(3)
    for n in range(3_000):
        story.produce(1, f"v{n}", at=n)
    story.start(3)
    path, _ = write_zombie(run)
    shown = story.events[3_007].n
    lines = [msgspec.json.encode(line) for line in [story.example, *story.events]]
    (run / path / "history.jsonl").write_bytes(b"\n".join(lines))
    text = page(run, path, events=[shown])
    rows = re.findall(r'class="event (\w+)[^"]*" id="e(\d+)"', text)
    faults = [int(n) for kind, n in rows if kind == "fault"]
    assert faults == [event.n for event in story.events if isinstance(event, Fault)]
    assert 2 * NEAR < len(rows) <= 2 * NEAR + 1 + len(faults)
    assert re.search(r"\d{3,4} events left out here", plain(text))
    assert len(text) < 300_000
    assert "are not drawn" in text


def test_long_frames_and_answers_are_cut_and_say_so(run: Path) -> None:
    path, _ = write_zombie(run)
    transcript = run / path / "transcript.jsonl"
    frames = [msgspec.json.decode(line) for line in transcript.read_bytes().splitlines()]
    for frame in frames:
        frame |= {"raw": "ab" * 50_000, "decoded": {"asked": "x" * 50_000}}
    transcript.write_bytes(b"\n".join(map(msgspec.json.encode, frames)))
    text = page(run, path)
    assert len(text) < 200_000
    assert re.search(r"\d+ more characters and 49400 more bytes in the transcript", plain(text))


def test_a_log_has_so_many_lines_the_nearest_about_the_example() -> None:
    lines = [f"[2026-11-21 10:00:{n % 60:02},000] INFO of {'e-1' if n % 2 == 0 else 'others'}" for n in range(600)]
    seen = log_view("broker-1", lines, [1795255230.0], "e-1")
    assert (len(seen.lines), seen.total) == (LINES, 600)
    assert all(line.about for line in seen.lines)
    assert seen.gaps


# --- the time line


def test_faults_are_bars_from_inject_to_heal() -> None:
    line = drawn(zombie())
    [bar] = line.bars
    assert (bar.name, bar.node) == ("cut-off-from-controllers (leader of the partition)", "broker-1")
    assert [phase for phase, *_ in bar.phases] == ["inject", "witness", "heal"]
    assert bar.tail == 0
    assert bar.x < bar.phases[0][2] < bar.phases[2][2] < bar.x + bar.width


def test_a_fault_that_nothing_heals_goes_on_and_one_from_before_has_no_inject() -> None:
    line = drawn(LogHistory().start(2).kill(1).produce(3, "a", at=0))
    before, after = sorted(line.bars, key=lambda bar: bar.node, reverse=True)
    assert (before.node, before.x, before.tail) == ("broker-2", 0.0, 0.0)
    assert after.tail > 0
    assert "no heal in this example" in after.words


def test_the_name_of_a_fault_at_the_end_is_not_cut_off() -> None:
    line = drawn(LogHistory().produce(1, "a", at=0).hit("a-fault-with-a-very-long-name" * 3, 1))
    assert line.width > line.bars[0].x + 6 * len(line.bars[0].name)


def test_phases_belong_to_the_fault_of_their_node() -> None:
    events = LogHistory().kill(1).kill(2).start(2).start(1).kill(1).events
    found = fault_spans([event for event in events if isinstance(event, Fault)])
    assert [(span.node, span.is_healed, len(span.phases)) for span in found] == [
        ("broker-1", True, 3), ("broker-2", True, 3), ("broker-1", False, 2),
    ]  # fmt: skip


def test_faults_at_once_on_one_node_do_not_cover_each_other() -> None:
    line = drawn(LogHistory().hit("slow-disk", 1).kill(1).start(1).heal("slow-disk", 1))
    assert len({bar.y for bar in line.bars}) == 2


def test_leaders_are_bands_with_their_epochs() -> None:
    line = drawn(zombie())
    assert [(band.epoch, band.words) for band in line.bands] == [(3, "leads at epoch 3"), (4, "leads at epoch 4")]
    first, second = line.bands
    assert first.x + first.width == second.x
    assert [lead.node for lead in known_leaders(zombie().history, PARTITION)] == ["broker-1", "broker-2"]


def test_old_epochs_do_not_lead_again() -> None:
    story = LogHistory().settled(1, 3).settled(2, 4).metadata(3, leader=1, epoch=3)
    assert [lead.epoch for lead in known_leaders(story.history, PARTITION)] == [3, 4]


def test_how_a_call_ended_is_told_by_shape_and_word() -> None:
    story = zombie()
    line = drawn(story, *SHOWN)
    found = {mark.event: mark.shape for mark in line.marks}
    ends = {event.n: event for event in story.events if isinstance(event, Answer)}
    assert found[SHOWN[0]] == "ok"
    assert {"refused", "info", "met"} <= set(line.shapes)
    assert all(ends[n].outcome == "info" for n, shape in found.items() if shape == "info")
    assert [mark.number for mark in line.marks if mark.number] == [1]


def test_marks_alike_are_one_with_their_count() -> None:
    story = LogHistory().produce(1, "a", at=0).produce(1, "b", at=1).produce(1, "c", at=2).produce(2, "d", at=3)
    line = drawn(story)
    assert [(mark.count, mark.letter) for mark in line.marks] == [(3, "P"), (1, "P")]
    assert [mark.count for mark in drawn(story, 3).marks] == [1, 1, 1, 1]


# --- reading


def test_a_violation_that_cannot_be_read_is_lacking(run: Path) -> None:
    path, _ = write_zombie(run)
    (run / path / "violation.json").write_text('{"schema": 1}')
    folder = read_folder(run, path)
    assert folder.violation is None
    assert any("violation.json is of schema 1" in one for one in folder.lacking)


def test_the_time_of_frames_is_found_without_a_clock() -> None:
    calls = [Call(n=n, t=n / 7, op="end_txn", node="n", request={}) for n in range(9)]
    frames = [
        TranscriptFrame(int((1000 + call.t + 0.001) * 1e9), "n", "sent", "EndTxn", 1, 1, "", msgspec.Raw(b"{}"))
        for call in calls
    ]
    noise = [TranscriptFrame(int(500 * 1e9), "n", "sent", "EndTxn", 1, 1, "", msgspec.Raw(b"{}"))]
    history = History(example=LogHistory().example, events=[*calls])
    assert began_at(history, noise + frames) == pytest.approx(1000, abs=0.01)
    assert began_at(history, []) is None
    assert began_at(history, noise) is None


def test_all_of_a_folder_is_read(run: Path) -> None:
    folder: EvidenceFolder = read_folder(run, write_zombie(run)[0])
    assert sorted(folder.logs) == ["broker-1", "broker-2", "controller-101"]
    assert [file.text for file in folder.disk if file.path.endswith("leader-epoch-checkpoint")] == ["0\n1\n3 0\n"]
    assert (folder.image, folder.image_id) == ("kafka:4.3.1", "sha256:1")
