"""`./kit benchmarks startup|faults|other-faults --kafka-version 4.3.1`, `./kit benchmarks judging|reports|small-merges`.

Prints Markdown tables; progress goes to stderr.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import faults, judging, reports, small_merges, startup
from fixtures.errors import UnknownVersion
from fixtures.images import newest, obtain
from fixtures.leases import workers
from history.command import COMMAND
from history.exit_codes import EXIT_INTERRUPTED, EXIT_SATISFIED, EXIT_WRONG_USE, exit_code_of
from protocol.errors import KitError


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Return 0, 2 for wrong use, 3 for errors of engine, image or node, or 130 after Ctrl-C."""
    asked = _parser().parse_args(arguments)
    try:
        print(asked.run(asked))
    except KitError as trouble:
        _tell(str(trouble))
        return exit_code_of(wrong_use=isinstance(trouble, UnknownVersion), troubled=True)
    except ValueError as wrong:
        _tell(str(wrong))
        return EXIT_WRONG_USE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_SATISFIED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"{COMMAND} benchmarks", description=__doc__)
    benchmarks = parser.add_subparsers(required=True)
    one = benchmarks.add_parser("startup", help="start of a cluster beside that of one plain broker process")
    one.add_argument("--kafka-version", metavar="V", default=newest(), help="a released version; default: the newest")
    one.add_argument("--rounds", metavar="N", type=_rounds, default=5, help="default: 5")
    one.set_defaults(measure=lambda image, asked: startup.table(image, startup.measure(image, asked.rounds, _tell)))
    many = benchmarks.add_parser("faults", help="witnessed faults an hour, on several clusters under traffic")
    many.add_argument("--kafka-version", metavar="V", default=newest(), help="a released version; default: the newest")
    many.add_argument("--minutes", metavar="N", type=float, default=20.0, help="default: 20")
    many.add_argument("--clusters", metavar="N", type=_rounds, default=workers(), help="default: as many as -n auto")
    many.set_defaults(
        measure=lambda image, asked: faults.table(image, faults.measure(image, asked.minutes, asked.clusters, _tell))
    )
    rest = benchmarks.add_parser("other-faults", help="all other kinds of faults, one cluster, no sum")
    rest.add_argument("--kafka-version", metavar="V", default=newest(), help="a released version; default: the newest")
    rest.add_argument("--rounds", metavar="N", type=_rounds, default=3, help="default: 3")
    rest.set_defaults(measure=lambda image, asked: faults.others(image, asked.rounds, _tell))
    judges = benchmarks.add_parser("judging", help="all judges of the log machine over many events; needs no engine")
    judges.add_argument("--events", metavar="N", type=_rounds, default=1_000_000, help="default: a million")
    judges.add_argument(
        "--example-events", metavar="N", type=_rounds, default=3_000, help="of one example; default: 3000"
    )
    judges.add_argument("--histories", metavar="DIR", type=Path, help="a run's histories, instead of generated ones")
    judges.add_argument(
        "--beside", metavar="CHECKOUT", type=Path, help="another checkout, whose judges judge --histories in turn"
    )
    judges.add_argument("--rounds", metavar="N", type=_rounds, default=5, help="with --beside; default: 5")
    scaled = benchmarks.add_parser("reports", help="merging and judging again at scale, in Spark; needs no engine")
    scaled.add_argument("--scale", choices=reports.SCALES, default="small", help="default: small")
    scaled.add_argument("--part", choices=reports.PARTS, action="append", help="one of them; default: both")
    scaled.add_argument("--keep", metavar="DIR", type=Path, help="leave the generated data in this new folder")
    small = benchmarks.add_parser("small-merges", help="a merge of two columns in smoke beside an empty Spark session")
    small.add_argument("--shards", metavar="DIR", type=Path, help="a run's shards, instead of generated ones")
    small.add_argument("--rounds", metavar="N", type=_rounds, default=3, help="default: 3")
    small.set_defaults(run=lambda asked: small_merges.table(small_merges.measure(asked.shards, asked.rounds, _tell)))
    parser.set_defaults(run=lambda asked: asked.measure(obtain(asked.kafka_version, progress=_tell), asked))
    judges.set_defaults(run=_judged)
    scaled.set_defaults(
        run=lambda asked: reports.measure(reports.SCALES[asked.scale], asked.part or reports.PARTS, _tell, asked.keep)
    )
    return parser


def _judged(asked: argparse.Namespace) -> str:
    """Measure judging. Stored histories are read before the clock starts, generated ones one at a time."""
    if asked.beside is not None:
        if asked.histories is None:
            raise ValueError("--beside needs --histories: both checkouts judge the same")
        return judging.beside_table(judging.beside(asked.beside, asked.histories, asked.rounds, _tell))
    histories = (
        judging.stored_histories(asked.histories, asked.events)
        if asked.histories
        else judging.made_up(asked.events, asked.example_events)
    )
    return judging.table(judging.measure(histories, _tell))


def _rounds(text: str) -> int:
    rounds = int(text)
    if rounds < 1:
        raise argparse.ArgumentTypeError(f"{rounds} rounds: there must be at least 1")
    return rounds


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
