"""The one schema number of what is stored: older files are refused with one sentence."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from history import __version__
from history.events import End, Example, Line
from history.schema import READ_BY, SCHEMA, WrongSchema, decode, require_current
from history.shards import read_header, read_shard
from history.store import HistoryWriter, read_histories
from tests.support.sample_shards import ShardBuilder

SENTENCE = r"{what} is of schema 1, which an unreleased kit before 0\.1\.0 .* reads; this kit reads schema 2\."


class Stored(msgspec.Struct):
    """Any file with a number."""

    schema: int = SCHEMA
    name: str = ""


def older(path: Path) -> Path:
    """The file with the number of the schema before."""
    path.write_bytes(path.read_bytes().replace(b'"schema":%d' % SCHEMA, b'"schema":%d' % (SCHEMA - 1)))
    return path


def test_this_version_reads_what_it_writes() -> None:
    assert READ_BY[SCHEMA] == __version__
    assert decode(msgspec.json.encode(Stored(name="x")), Stored, "x") == Stored(name="x")


@pytest.mark.parametrize("content", [b'{"schema":1,"name":"x"}', b'{"name":"x"}', b'{"of":"another time"}'])
def test_an_older_file_is_refused_with_the_kit_that_reads_it(content: bytes) -> None:
    with pytest.raises(WrongSchema, match=SENTENCE.format(what="plan")):
        decode(content, Stored, "plan")


def test_a_newer_file_is_refused_too() -> None:
    with pytest.raises(WrongSchema, match="plan is of schema 3, which a newer kit reads; this kit reads schema 2"):
        require_current(b'{"schema":3}', "plan")


@pytest.mark.parametrize("torn", [b"", b'{"schema":', b"[]", b'{"schema":"two"}'])
def test_what_is_no_file_of_ours_is_no_older_one(torn: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        require_current(torn, "plan")


def test_an_older_history_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gw0.jsonl.zst"
    lines: list[Line] = [
        Example(schema=1, example="e-1", check="c", column="4.3.1"),
        End(example="e-1", outcome="judged"),
    ]
    with HistoryWriter(path) as writer:
        for line in lines:
            writer.write(line)
    with pytest.raises(WrongSchema, match=SENTENCE.format(what="history 'e-1'")):
        list(read_histories(path))


def test_an_older_shard_is_refused_by_each_reader(tmp_path: Path) -> None:
    path = older(ShardBuilder("s1").finish().write(tmp_path))
    for read in (read_shard, read_header):
        with pytest.raises(WrongSchema, match=SENTENCE.format(what="shard 's1'")):
            read(path)


def test_a_header_that_could_not_be_read_today_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b'{"type":"header","shard":"s1","n":0,"schema":1,"of":"another time"}\n')
    with pytest.raises(WrongSchema, match="shard 's1' is of schema 1"):
        read_shard(path)
