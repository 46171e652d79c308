"""Options of the commands that read or write a matrix."""

import json
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import click

HELP: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
PATH = click.Path(path_type=Path)
Form: TypeAlias = Literal["text", "json"]

form = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="default: text")


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2))
