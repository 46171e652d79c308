"""The commands of `./kit mutants`: `build` prints the reference of an image for --kafka-image; `compare` compares a
mutant's column of a matrix with the table and with the column of the unmodified Kafka."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fixtures.errors import WrongUse
from fixtures.images import from_image, obtain_image
from history.exit_codes import exit_code_of
from mutants import Mutant, all_mutants, mutant
from mutants.build import mutant_image
from mutants.compare import compare

PATH = click.Path(path_type=Path)


planted = click.argument(
    "planted",
    metavar="NAME",
    callback=lambda _context, _parameter, name: mutant(name),
    shell_complete=lambda _context, _parameter, typed: [
        one.name for one in all_mutants() if one.name.startswith(typed)
    ],
)


@click.group(no_args_is_help=True)
def mutants() -> None:
    """Brokers with a planted bug, those of mutants/table.toml: build one, or compare its column with the table."""


@mutants.command("build", short_help="Build an image of Kafka with one planted bug.")
@planted
@click.option("--kafka-version", metavar="V", default="", help="a released version")
@click.option("--kafka-image", metavar="IMAGE", default="", help="an image of Kafka")
def build_image(planted: Mutant, kafka_version: str, kafka_image: str) -> None:
    """Build an image of Kafka with one planted bug, and print its reference for --kafka-image."""
    if bool(kafka_version) == bool(kafka_image):
        raise WrongUse("mutants build: give either --kafka-version or --kafka-image")
    base = from_image(kafka_image, progress=_tell) if kafka_image else obtain_image(kafka_version, progress=_tell)
    print(mutant_image(planted.name, base, _tell).reference)


@mutants.command("compare", short_help="Compare a mutant's column with the table.")
@planted
@click.argument("mutated")
@click.argument("unharmed")
@click.option(
    "--conformance-out",
    "--out",
    "out",
    type=PATH,
    default="out",
    metavar="DIR",
    help="the folder of the run; default: out",
)
def compare_columns(planted: Mutant, mutated: str, unharmed: str, out: Path) -> int:
    """Compare the column MUTATED of DIR/matrix with the table, and with UNHARMED, the same version without the mutant.

    The exit code is 0 if the mutant did what the table says, else 1.
    """
    try:
        comparison = compare(planted, out / "matrix" / "matrix.json", mutated, unharmed)
    except (ValueError, OSError) as error:
        raise WrongUse(str(error)) from error
    print(comparison)
    return exit_code_of(violated=not comparison.as_promised)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
