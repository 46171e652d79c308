"""`build NAME --kafka-version V` prints the reference of an image for --kafka-image; `compare NAME MATRIX MUTATED
UNHARMED` compares a mutant's column of a matrix.json with the table and with the column of the unmodified Kafka.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fixtures.errors import UnknownVersion
from fixtures.images import from_image, obtain
from history.command import COMMAND
from history.exit_codes import EXIT_SATISFIED, exit_code_of
from mutants import Mutant, UnknownMutant, mutant
from mutants.build import mutant_image
from mutants.compare import compare
from protocol.errors import KitError

_NAME = "a mutant of mutants/table.toml"


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 or, for `compare`, 1; 2 for wrong use, 3 for errors of images or tools."""
    options = _parser().parse_args(arguments)
    try:
        return _compare(options) if options.command == "compare" else _build(options)
    except (KitError, ValueError, OSError) as trouble:
        _tell(str(trouble))
        return exit_code_of(
            wrong_use=not isinstance(trouble, KitError) or isinstance(trouble, UnknownVersion), troubled=True
        )


def _build(options: argparse.Namespace) -> int:
    if options.kafka_image:
        base = from_image(options.kafka_image, progress=_tell)
    else:
        base = obtain(options.kafka_version, progress=_tell)
    print(mutant_image(options.mutant.name, base, _tell).reference)
    return EXIT_SATISFIED


def _compare(options: argparse.Namespace) -> int:
    """Print the comparison; return 0 if the mutant did what the table says, else 1."""
    comparison = compare(options.mutant, options.matrix, options.mutated, options.unharmed)
    print(comparison)
    return exit_code_of(violated=not comparison.as_promised)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"{COMMAND} mutants", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    held = commands.add_parser("compare", help="compare a mutant's column with the table")
    held.add_argument("mutant", metavar="NAME", type=_named, help=_NAME)
    held.add_argument("matrix", type=Path, help="a matrix.json")
    held.add_argument("mutated", help="the mutant's column")
    held.add_argument("unharmed", help="the column of the same version without the mutant")
    build = commands.add_parser("build", help="an image of Kafka with one planted bug")
    build.add_argument("mutant", metavar="NAME", type=_named, help=_NAME)
    base = build.add_mutually_exclusive_group(required=True)
    base.add_argument("--kafka-version", metavar="V", help="a released version")
    base.add_argument("--kafka-image", metavar="IMAGE", help="an image of Kafka")
    return parser


def _named(name: str) -> Mutant:
    try:
        return mutant(name)
    except UnknownMutant as unknown:
        raise argparse.ArgumentTypeError(str(unknown)) from None


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
