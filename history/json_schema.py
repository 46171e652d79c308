"""The JSON Schema of a shard's line, for other readers: `python -m history.json_schema` writes the shipped file."""

from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from history.shards import json_schema

SHIPPED = Path(__file__).parent / "shard.schema.json"


def schema_text() -> bytes:
    """Return the schema as in the shipped file: indented, in a fixed order."""
    return (
        msgspec.json.format(msgspec.json.encode(_with_clean_descriptions(json_schema()), order="sorted"), indent=2)
        + b"\n"
    )


def _with_clean_descriptions(part: Any) -> Any:
    """Return the schema with dedented descriptions: they are docstrings, which newer Pythons dedent already."""
    if isinstance(part, dict):
        return {
            key: cleandoc(value) if key == "description" and isinstance(value, str) else _with_clean_descriptions(value)
            for key, value in part.items()
        }
    return [_with_clean_descriptions(each) for each in part] if isinstance(part, list) else part


def main() -> None:
    SHIPPED.write_bytes(schema_text())


if __name__ == "__main__":
    main()
