"""Shards with which a merge ends in an error, and headers that cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.intake import ShardSummary
from history.shards import encode_line
from reports.errors import ReportError
from reports.ingest.intake import sort_shards
from reports.ingest.validate import header_in
from tests.support.sample_shards import ShardBuilder


def whole(shard: str, **header: Any) -> ShardSummary:
    """A complete shard of two lines."""
    header_line = ShardBuilder(shard, "4.3.1", **header).header
    return ShardSummary(shard=shard, lines=2, bad=0, numbers=2, first=0, last=1, footer=1, header=header_line)


def test_two_builds_never_share_a_column() -> None:
    with pytest.raises(ReportError, match=r"Column '4\.3\.1' was run on two builds: d1 .* and d2 .*--label"):
        sort_shards([whole("s1", digest="d1"), whole("s2", digest="d2")], shipped_rows())


def test_one_build_on_two_machines_is_one_column() -> None:
    """Each machine built an image of its own from the same jars."""
    intake = sort_shards(
        [whole("s1", image_id="sha256:a", digest="d"), whole("s2", image_id="sha256:b", digest="d")], shipped_rows()
    )
    assert [column.label for column in intake.columns] == ["4.3.1"]


def test_nothing_readable_is_an_error_that_says_what_was_found() -> None:
    headless = ShardSummary(shard="s1", lines=2, bad=0, numbers=2, headers=0)
    with pytest.raises(ReportError, match="shard s1: it has no readable header"):
        sort_shards([headless], shipped_rows())
    with pytest.raises(ReportError, match="3 lines are torn"):
        sort_shards([ShardSummary(shard="", lines=0, bad=3, numbers=0)], shipped_rows())
    with pytest.raises(ReportError, match="a file is empty"):
        sort_shards([], shipped_rows(), empty_files=True)


def test_a_header_is_read_from_its_line_or_is_none() -> None:
    header = ShardBuilder("s1").header
    assert header_in(encode_line(header).decode()) == header
    assert header_in(None) is None
    assert header_in('{"type":"header"}') is None
