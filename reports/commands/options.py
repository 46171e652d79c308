"""Options that several commands have."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from conformance.catalogue import shipped_rows

HELP: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
PATH = click.Path(path_type=Path)
OUT_VARIABLE = "KAFKA_CONFORMANCE_OUT"
Form: TypeAlias = Literal["text", "json"]
F = TypeVar("F", bound=Callable[..., Any])

form = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="default: text")


Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]
"""A function that completes a partly typed value of a parameter."""


def completing(values: Callable[[], Iterable[str]]) -> Complete:
    """Return a function that completes `values`, ignoring case."""

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem[str]]:
        return [CompletionItem(value) for value in values() if value.lower().startswith(typed.lower())]

    return complete


complete_rows = completing(lambda: [row.id for row in shipped_rows()])


def out_option(
    text: str, default: str | None = "out", *, kind: click.Path | click.types.StringParamType = PATH
) -> Callable[[F], F]:
    """Return the option that names a run's folder. If the default is `out`, an environment variable may replace it."""
    return click.option(
        "--conformance-out",
        "--out",
        "out",
        type=kind,
        envvar=OUT_VARIABLE if default == "out" else None,
        default=default,
        metavar="DIR",
        help=f"{text}; default: {default}" if default else text,
    )


def matrix_options(command: F) -> F:
    """Add the options that name a matrix; `matrix_file` takes their values."""
    elsewhere = click.option(
        "--matrix", type=PATH, metavar="FILE", help="a matrix.json; default: matrix/matrix.json of --conformance-out"
    )
    return out_option("the folder of a run")(elsewhere(command))


def matrix_file(out: Path, matrix: Path | None) -> Path:
    """Return the given file, or the one to which a run writes its matrix."""
    return matrix or out / "matrix" / "matrix.json"


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2))
