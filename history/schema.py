"""The JSON Schema of a shard's line, for readers that are not ours: `python -m history.schema` writes the shipped file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from history.shards import json_schema

SHIPPED = Path(__file__).parent / "shard.schema.json"


def text() -> bytes:
    """The schema as the shipped file holds it: indented, in a fixed order."""
    return msgspec.json.format(msgspec.json.encode(json_schema(), order="sorted"), indent=2) + b"\n"


def main() -> None:
    SHIPPED.write_bytes(text())


if __name__ == "__main__":
    main()
