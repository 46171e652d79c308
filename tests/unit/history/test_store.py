"""Histories and shards on disk: what is written comes back, and what was cut short comes back as far as it goes."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import zstandard

import history.json_schema
from conformance.running.recording.shard_writer import ShardWriter
from history.events import Answer, Call, End, Example, Fault, Line, Note, Premise
from history.observations import Observation
from history.shards import BOM, Footer, Header, ObservationLine, encode_line, read_shard, read_shards
from history.store import HistoryWriter, read_histories, read_lines
from tests.support.sample_shards import ShardBuilder, all_checks, write_lines


def example(name: str, **fields: Any) -> list[Line]:
    """One example with an event of each kind; its values grow, so that no two events look alike."""
    request = {"topic": {"name": "a", "id": None}, "acks": -1, "n": name}
    value = {"error_code": 0, "records": ["grüße", "x" * 40], "n": name}
    return [
        Example(example=name, check="kip.check", column="4.3.1", inputs={"epochs_back": 2}, **fields),
        Call(n=0, t=0.0, op="produce", node="broker-1", request=request),
        Answer(n=1, t=0.25, call=0, outcome="ok", value=value),
        Fault(n=2, t=1.5, fault="kill", phase="inject", role="leader", node="broker-1", detail={"state": "exited"}),
        Premise(n=3, t=2.0, what="the epoch rose", met=True),
        Answer(n=4, t=2.5, process="other", call=0, outcome="info", error="no answer", kind="Unanswered"),
        Note(n=5, t=3.0, text="schedule", data={"steps": []}),
        End(example=name, outcome="judged"),
    ]


def write(path: Path, lines: list[Line]) -> Path:
    with HistoryWriter(path) as writer:
        for line in lines:
            writer.write(line)
    return path


# --- histories


def test_what_is_written_is_read(tmp_path: Path) -> None:
    lines = [*example("e-1", case="consumer", context={"topic": "a"}, members=[{"id": 1}]), *example("e-2")]
    path = write(tmp_path / "run" / "gw0.jsonl.zst", lines)
    assert list(read_lines(path)) == lines
    first, second = read_histories(path)
    assert (first.example, first.events, first.end) == (lines[0], lines[1:7], lines[7])
    assert (second.example.example, second.complete) == ("e-2", True)


def test_fields_keep_their_order(tmp_path: Path) -> None:
    """Sentences name them in it, also those of a history that is judged again."""
    request = {"position": 1, "name": "b", "about": {"z": 0, "a": 1}}
    begun, *_ = example("e-1")
    call = Call(n=0, t=0.0, op="fetch", node="broker-1", request=request)
    _, again = read_lines(write(tmp_path / "gw0.jsonl.zst", [begun, call]))
    assert isinstance(again, Call)
    assert repr(again.request) == repr(request)


def test_each_example_is_a_frame_of_its_own(tmp_path: Path) -> None:
    one, two = example("e-1"), example("e-2")
    write(tmp_path / "one", one)
    path = write(tmp_path / "both", one + two)
    size = (tmp_path / "one").stat().st_size
    assert path.read_bytes()[:size] == (tmp_path / "one").read_bytes()
    (tmp_path / "second").write_bytes(path.read_bytes()[size:])
    assert [found.example.example for found in read_histories(tmp_path / "second")] == ["e-2"]
    plain = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(path.read_bytes()), read_across_frames=True).read()
    assert plain.count(b"\n") == len(one + two)


def test_a_file_cut_at_any_byte_gives_the_events_before_the_cut(tmp_path: Path) -> None:
    lines = [*example("e-1"), *example("e-2")]
    whole = write(tmp_path / "whole", lines).read_bytes()
    seen = []
    for size in range(len(whole) + 1):
        (tmp_path / "cut").write_bytes(whole[:size])
        found = list(read_lines(tmp_path / "cut"))
        assert found == lines[: len(found)]
        seen.append(len(found))
    assert seen == sorted(seen)
    assert set(seen) == set(range(len(lines) + 1))


def test_an_event_larger_than_a_block_counts_only_when_it_is_whole(tmp_path: Path) -> None:
    """zstd writes blocks of 128 KiB at most, so a cut may leave the first half of a line readable."""
    big = Note(n=6, t=3.0, text="big", data={"hex": random.Random(1).randbytes(200_000).hex()})
    lines = [*example("e-1")[:-1], big]
    whole = write(tmp_path / "whole", lines).read_bytes()
    for size in range(len(whole) - 190_000, len(whole), 9_999):
        (tmp_path / "cut").write_bytes(whole[:size])
        assert list(read_lines(tmp_path / "cut")) == lines[:-1]


def test_every_event_is_on_disk_when_write_returns(tmp_path: Path) -> None:
    path, lines = tmp_path / "file", example("e-1")
    writer = HistoryWriter(path)
    for count, line in enumerate(lines, start=1):
        writer.write(line)
        assert list(read_lines(path)) == lines[:count]
    writer.close()


_WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
import msgspec
from history.events import Line
from history.store import HistoryWriter
writer = HistoryWriter(Path(sys.argv[1]))
for line in msgspec.json.decode(sys.stdin.read(), type=list[Line]):
    writer.write(line)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_killed_in_an_example_leaves_an_open_group(tmp_path: Path) -> None:
    written = [*example("e-1"), *example("e-2")[:4]]
    command = [sys.executable, "-c", _WRITE_AND_DIE, str(tmp_path / "file")]
    killed = subprocess.run(command, input=msgspec.json.encode(written), check=False)
    assert killed.returncode == -signal.SIGKILL
    first, second = read_histories(tmp_path / "file")
    assert first.complete
    assert not second.complete
    assert second.events == example("e-2")[1:4]


def test_an_example_without_an_end_is_open_also_when_another_follows(tmp_path: Path) -> None:
    first, second = read_histories(write(tmp_path / "file", example("e-1")[:-1] + example("e-2")))
    assert (first.complete, len(first.events)) == (False, 6)
    assert second.complete


def test_calls_meet_their_answers(tmp_path: Path) -> None:
    [found] = read_histories(write(tmp_path / "file", example("e-1")))
    assert [(call.n, answer.n) for call, answer in found.answered_calls()] == [(0, 1), (0, 4)]


# --- shards


def every_kind() -> ShardBuilder:
    shard = ShardBuilder("s1", checks=all_checks()).observe("KIP320-FETCH-02", "consumer", label="x", variant="A")
    shard.example("KIP320-FETCH-02").end_check("KIP320-FETCH-02", detail="grüße")
    return shard.replay("KIP320-FETCH-02", "evidence/KIP320-FETCH-02/e-1", 3, 5).finish()


def test_a_shard_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = every_kind()
    shard = read_shard(written.write(tmp_path))
    assert (shard.lines, shard.header, shard.torn, shard.complete) == (written.lines, written.lines[0], 0, True)


def test_a_torn_last_line_is_counted_and_the_rest_is_used(tmp_path: Path) -> None:
    written = every_kind()
    text = b"".join(written.text())
    for size in (1, 2, 20, len(written.text()[-1]) - 2):
        shard = read_shard(write_lines(tmp_path / "s.jsonl", [text[: -1 - size]]))
        assert (shard.lines, shard.torn, shard.complete) == (written.lines[:-1], 1, False)


@pytest.mark.parametrize(
    "bad",
    [
        b"{}", b"null", b'{"type":"cell","shard":"s","n":1}', b"\xff\xfe", b'{"type":"footer"}',
        b'{"type":"footer","shard":"s","n":1,"counts":{"\xff":1}}',
    ],
)  # fmt: skip
def test_a_line_that_is_none_of_a_shard_is_counted(tmp_path: Path, bad: bytes) -> None:
    written = every_kind()
    shard = read_shard(write_lines(tmp_path / "s.jsonl", [*written.text()[:3], bad + b"\n", *written.text()[3:]]))
    assert (shard.lines, shard.torn) == (written.lines, 1)


def test_what_editors_put_around_lines_does_not_matter(tmp_path: Path) -> None:
    written = every_kind()
    text = BOM + b"\n".join(written.text()).replace(b"\n", b" \r\n")
    shard = read_shard(write_lines(tmp_path / "s.jsonl", [text]))
    assert (shard.lines, shard.torn) == (written.lines, 0)


def test_a_line_nested_beyond_reason_is_torn(tmp_path: Path) -> None:
    deep = b'{"type":"footer","shard":"s1","n":1,"counts":{},"x":' + b"[" * 9999 + b"]" * 9999 + b"}\n"
    shard = read_shard(write_lines(tmp_path / "s.jsonl", [deep]))
    assert (shard.lines, shard.torn, shard.torn_of) == ([], 1, {"s1"})


def test_an_empty_file_is_a_shard_without_a_header(tmp_path: Path) -> None:
    shard = read_shard(write_lines(tmp_path / "s.jsonl", []))
    assert (shard.header, shard.lines, shard.torn, shard.complete) == (None, [], 0, False)


def test_shards_are_found_at_any_depth_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/s2.jsonl", "a/s1.jsonl", "a/deep/s3.jsonl"):
        write_lines(tmp_path / name, ShardBuilder(Path(name).stem).finish().text())
    write_lines(tmp_path / "a/notes.txt", [b"{}"])
    assert [shard.header.shard for shard in read_shards(tmp_path) if shard.header] == ["s3", "s1", "s2"]


def test_a_line_tells_kind_shard_and_number_before_anything_else() -> None:
    for number, line in enumerate(every_kind().text()):
        kind = msgspec.json.decode(line)["type"]
        assert line.startswith(f'{{"type":"{kind}","shard":"s1","n":{number},'.encode())


def test_lines_of_equal_content_are_equal_bytes() -> None:
    levels = {"Fetch": 18, "ApiVersions": 4}
    one, two = (ShardBuilder("s1", ranges=ranges).lines[0] for ranges in (levels, dict(reversed(list(levels.items())))))
    assert isinstance(one, Header)
    assert isinstance(two, Header)
    assert one.column.ranges == two.column.ranges
    assert encode_line(one) == encode_line(two)


# --- the schema that is shipped


def test_the_shipped_schema_is_the_one_in_force() -> None:
    assert history.json_schema.SHIPPED.read_bytes() == history.json_schema.schema_text(), (
        "run `python -m history.json_schema`"
    )


def validator() -> jsonschema.protocols.Validator:
    schema = msgspec.json.decode(history.json_schema.SHIPPED.read_bytes())
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    kind.check_schema(schema)
    return kind(schema)


def test_real_lines_are_valid() -> None:
    check = validator()
    for line in every_kind().text():
        check.validate(msgspec.json.decode(line))


@pytest.mark.parametrize(
    "change",
    [{"type": "cell"}, {"n": "1"}, {"shard": None}, {"result": "green"}, {"events": ["1"]}],
    ids=lambda change: next(iter(change)),
)
def test_a_wrong_line_is_not(change: dict[str, Any]) -> None:
    line = next(text for text in every_kind().text() if b'"observation"' in text)
    assert not validator().is_valid(msgspec.json.decode(line) | change)


def test_an_observation_line_holds_all_of_an_observation() -> None:
    """Re-judging compares them field by field."""
    lines = [line for line in every_kind().lines if hasattr(line, "requirement") and hasattr(line, "result")]
    assert {field.name for field in msgspec.structs.fields(Observation)} <= set(lines[0].__struct_fields__)


def test_an_observation_comes_back_from_its_line() -> None:
    seen = Observation(requirement="R", case="c", result="violated", example="e", events=[3], detail="d", variant="v")
    line = ObservationLine.of(seen, shard="s", n=7, check="a check", evidence="evidence/R/e")
    assert line.observation == seen
    assert (line.shard, line.n, line.check, line.history, line.evidence) == ("s", 7, "a check", "", "evidence/R/e")


def test_a_writer_numbers_its_lines_and_flushes_each(tmp_path: Path) -> None:
    given, *_ = every_kind().lines
    assert isinstance(given, Header)
    fields = {name: getattr(given, name) for name in given.__struct_fields__ if name not in ("shard", "n", "column")}
    writer = ShardWriter(tmp_path, "s9", given.column, **fields)
    writer.example(example="e-1", check="c", outcome="judged")
    seen = Observation(requirement="KIP320-FETCH-02", case="consumer", result="held", example="e-1")
    writer.observation(seen, check="c")
    half = read_shard(tmp_path / "s9.jsonl")
    assert [line.n for line in half.lines] == [0, 1, 2]
    assert not half.complete
    writer.check(check="c", rows=["KIP320-FETCH-02"], outcome="done")
    writer.replay(requirement="KIP320-FETCH-02", evidence="e", seen=1, tries=5)
    writer.close()
    whole = read_shard(tmp_path / "s9.jsonl")
    footer = whole.lines[-1]
    assert whole.header is not None
    assert isinstance(footer, Footer)
    assert {line.shard for line in whole.lines} == {"s9"}
    assert footer.counts == {"header": 1, "example": 1, "observation": 1, "check": 1, "replay": 1}
