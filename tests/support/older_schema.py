"""Stored files of the schema before the current one."""

from __future__ import annotations

from pathlib import Path

import zstandard

from history.schema import SCHEMA
from history.store import frames_of


def aged(content: bytes) -> bytes:
    """Return the content with the number of the schema before."""
    found = content.replace(b'"schema":%d' % SCHEMA, b'"schema":%d' % (SCHEMA - 1))
    assert found != content
    return found


def age_histories(out: Path) -> None:
    """Give every history of a run the number of the schema before."""
    for path in (out / "histories").rglob("*.zst"):
        data = path.read_bytes()
        frames = (data[one.offset : one.offset + one.length] for one in frames_of(path))
        contents = [zstandard.ZstdDecompressor().decompressobj().decompress(frame) for frame in frames]
        path.write_bytes(b"".join(zstandard.ZstdCompressor().compress(aged(content)) for content in contents))
