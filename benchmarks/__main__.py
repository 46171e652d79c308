"""`python -m benchmarks startup --kafka-version 4.3.1 --rounds 5`: prints a Markdown table; progress goes to stderr."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks import startup
from fixtures.errors import KitError, UnknownVersion
from fixtures.images import newest, obtain


def main(arguments: Sequence[str] | None = None) -> int:
    """0 with the table on stdout; as elsewhere in the kit 2 for wrong use, 3 for trouble with engine, image or node."""
    asked = _parser().parse_args(arguments)
    try:
        image = obtain(asked.kafka_version, progress=_tell)
        print(startup.table(image, startup.measure(image, asked.rounds, _tell)))
    except KitError as trouble:
        _tell(str(trouble))
        return 2 if isinstance(trouble, UnknownVersion) else 3
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    benchmarks = parser.add_subparsers(required=True)
    one = benchmarks.add_parser("startup", help="start of a cluster beside that of one plain broker process")
    one.add_argument("--kafka-version", metavar="V", default=newest(), help="a released version; default: the newest")
    one.add_argument("--rounds", metavar="N", type=_rounds, default=5, help="default: 5")
    return parser


def _rounds(text: str) -> int:
    rounds = int(text)
    if rounds < 1:
        raise argparse.ArgumentTypeError(f"{rounds} rounds: there must be at least 1")
    return rounds


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
