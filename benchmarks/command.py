"""`./kit benchmarks`: the kit's own measurements as Markdown tables; progress goes to stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks import elections as waits
from benchmarks import faults as fault_cycles
from benchmarks import judging as judges
from benchmarks import nights as year
from benchmarks import reports as scaled
from benchmarks import small_merges as merges
from benchmarks import startup as starts
from benchmarks.column import column_tables
from fixtures.errors import WrongUse
from fixtures.images import newest_version, obtain_image
from fixtures.leases import workers
from history.shards import read_shards

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)

on_version = click.option(
    "--kafka-version", metavar="V", default=newest_version(), help="a released version; default: the newest"
)
out = click.option(
    "--conformance-out", "--out", "out", type=PATH, metavar="DIR", help="the folder of a run, instead of generated data"
)


@click.group(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
def benchmarks() -> None:
    """The kit's own measurements, printed as Markdown tables."""


@benchmarks.command()
@on_version
@click.option("--rounds", metavar="N", type=COUNT, default=5, help="default: 5")
def startup(kafka_version: str, rounds: int) -> None:
    """Compare the start of a cluster with that of one plain broker process."""
    image = obtain_image(kafka_version, progress=_print_progress)
    print(starts.table(image, starts.measure(image, rounds, _print_progress)))


@benchmarks.command()
@on_version
@click.option("--minutes", metavar="N", type=float, default=20.0, help="default: 20")
@click.option("--clusters", metavar="N", type=COUNT, default=workers(), help="default: as many as -n auto")
def faults(kafka_version: str, minutes: float, clusters: int) -> None:
    """Count witnessed faults per hour, on several clusters under traffic."""
    image = obtain_image(kafka_version, progress=_print_progress)
    print(fault_cycles.table(image, fault_cycles.measure(image, minutes, clusters, _print_progress)))


@benchmarks.command("other-faults")
@on_version
@click.option("--rounds", metavar="N", type=COUNT, default=3, help="default: 3")
def other_faults(kafka_version: str, rounds: int) -> None:
    """Time all other kinds of faults, on one cluster, without a sum."""
    print(
        fault_cycles.measure_other_kinds(obtain_image(kafka_version, progress=_print_progress), rounds, _print_progress)
    )


@benchmarks.command()
@click.option("--events", metavar="N", type=COUNT, default=1_000_000, help="default: a million")
@click.option("--example-events", metavar="N", type=COUNT, default=3_000, help="of one example; default: 3000")
@out
@click.option("--beside", metavar="CHECKOUT", type=PATH, help="another checkout, whose judges judge the run in turn")
@click.option("--rounds", metavar="N", type=COUNT, default=5, help="with --beside; default: 5")
def judging(events: int, example_events: int, out: Path | None, beside: Path | None, rounds: int) -> None:
    """Time all judges over many events; needs no engine.

    Stored histories are read before the clock starts, generated ones one at a time.
    """
    if beside is not None:
        if out is None:
            raise WrongUse("--beside needs --conformance-out: both checkouts judge the same")
        print(judges.comparison_table(judges.compare_checkouts(beside, out, rounds, _print_progress)))
        return
    histories = judges.stored_histories(out, events) if out else judges.generated_histories(events, example_events)
    print(judges.table(judges.measure(histories, _print_progress)))


@benchmarks.command()
@click.option("--scale", type=click.Choice(list(scaled.SCALES)), default="small", help="default: small")
@click.option("--part", type=click.Choice(scaled.PARTS), multiple=True, help="one of them; default: both")
@click.option(
    "--conformance-out", "--out", "out", type=PATH, metavar="DIR", help="leave the generated data in this new folder"
)
def reports(scale: str, part: Sequence[str], out: Path | None) -> None:
    """Merge and judge again at scale, in Spark; needs no engine."""
    print(scaled.measure(scaled.SCALES[scale], part or scaled.PARTS, _print_progress, out))


@benchmarks.command("small-merges")
@out
@click.option("--beside", metavar="CHECKOUT", type=PATH, help="another checkout, which merges the same in turn")
@click.option("--rounds", metavar="N", type=COUNT, default=3, help="default: 3")
def small_merges(out: Path | None, beside: Path | None, rounds: int) -> None:
    """Compare a merge of two columns in smoke with an empty Spark session."""
    print(merges.table(merges.measure(out and out / "shards", beside, rounds, _print_progress)))


@benchmarks.command()
@click.option(
    "--night", "measured", type=COUNT, multiple=True, metavar="N", default=year.MEASURED,
    help="a night that is merged alone; repeatable; default: 1, 31, 91, 182 and 365",
)  # fmt: skip
@click.option("--columns", metavar="N", type=COUNT, default=year.COLUMNS, help="default: 16")
@click.option("--observations", metavar="N", type=COUNT, default=year.OBSERVATIONS, help="of a column; default: 1000")
def nights(measured: Sequence[int], columns: int, observations: int) -> None:
    """Merge generated nights, one after the other, into one archive, in Spark; needs no engine."""
    print(year.table(year.measure(sorted({*measured}), columns, observations, _print_progress)))


@benchmarks.command()
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("--run", "run", default="", metavar="ID", help="the shards of this run only")
def column(folder: Path, run: str) -> None:
    """Tell where the time of recorded columns went; needs no engine.

    DIR is the output directory of a run, or a folder of shards.
    """
    shards = folder / "shards"
    print(column_tables(read_shards(shards if shards.is_dir() else folder, run)))


@benchmarks.command()
@click.argument("folders", type=PATH, metavar="[DIR]...", nargs=-1)
@click.option("--keep", is_flag=True, help="write them into benchmarks/elections.json, beside the code")
def elections(folders: Sequence[Path], keep: bool) -> None:
    """Tell how soon leaders resign and voters stand for election; needs no engine.

    DIR is the output directory of a run with histories; without one, the measurements are those that are kept.
    """
    found = waits.measure(waits.stored_histories(folders)) if folders else waits.read_waits()
    if keep:
        waits.DATA.write_text(waits.as_json(found), encoding="utf-8")
    print(waits.table(found))


def _print_progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
