"""python -m mutants build NAME --kafka-version V: prints the reference of an image to hand to --kafka-image."""

import argparse
import sys
from collections.abc import Sequence

from fixtures.errors import KitError, UnknownVersion
from fixtures.images import from_image, obtain
from mutants import all_mutants
from mutants.build import mutant_image


def main(arguments: Sequence[str] | None = None) -> int:
    """0 with the reference on stdout; as elsewhere in the kit 2 for wrong use, 3 for trouble with images or tools."""
    options = _parser().parse_args(arguments)
    try:
        if options.kafka_image:
            base = from_image(options.kafka_image, progress=_tell)
        else:
            base = obtain(options.kafka_version, progress=_tell)
        print(mutant_image(options.name, base, _tell).reference)
    except KitError as trouble:
        _tell(str(trouble))
        return 2 if isinstance(trouble, UnknownVersion) else 3
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    build = parser.add_subparsers(required=True).add_parser("build", help="an image of Kafka with one planted bug")
    build.add_argument("name", choices=[each.name for each in all_mutants()])
    base = build.add_mutually_exclusive_group(required=True)
    base.add_argument("--kafka-version", metavar="V", help="a released version")
    base.add_argument("--kafka-image", metavar="IMAGE", help="an image of Kafka")
    return parser


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
