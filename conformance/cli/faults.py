"""`./kit faults` and `./kit storm`: the fault lab by itself, without checks."""

import math
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from conformance.cli.engine import make_ready, print_progress
from conformance.cli.group import HELP
from conformance.cli.options import VERSIONS, choose, own_build_options, progress_apart, versions_option
from conformance.cli.storm import Storm, as_json, draw_plans, is_success, storm_summary
from conformance.running.columns import VERSION, WantedColumn
from fixtures.engine import connect
from fixtures.errors import WrongUse
from fixtures.faults import selftest
from fixtures.faults.base.fault import Fault
from fixtures.faults.catalogue import FAULTS
from fixtures.images import Image
from fixtures.ready import prepare_engine
from fixtures.runs import Run
from history.exit_codes import exit_code_of
from reports.commands.options import Form, completing, form, out_option, print_json

by_name = click.option(
    "--fault",
    multiple=True,
    metavar="GLOB",
    help="by name; repeatable; default: all",
    shell_complete=completing(lambda: (str(kind.__struct_config__.tag) for kind in FAULTS)),
)


@click.command(context_settings=HELP)
@versions_option(f"{VERSIONS}; default: the newest")
@own_build_options
@by_name
@click.option("--every-role", is_flag=True, help="aim each at all of its roles; default: the usual one")
@click.option("--sabotage", is_flag=True, help="leave the faults out, so that no witness may show")
@form
def faults(fault: Sequence[str], every_role: bool, sabotage: bool, form: Form, **columns: Sequence[str]) -> int:
    """Inject each fault once on each version, image or distribution, and print a table.

    The exit code is 0 if every fault showed its witness and its consequence, and healed; with --sabotage, if no witness showed.
    """
    wanted = selftest.choose_faults(list(fault), every_role=every_role)
    with progress_apart(form):
        tested = _test_columns(choose(**columns).columns, wanted, sabotage=sabotage)
    if form == "json":
        print_json(msgspec.to_builtins(tested))
    else:
        print_progress(selftest.results_table(tested))
    expected = all(selftest.all_as_expected(rows, sabotage=sabotage) for rows in tested.values())
    return exit_code_of(troubled=not expected)


def _test_columns(
    columns: Sequence[WantedColumn], wanted: Sequence[Fault], *, sabotage: bool
) -> dict[str, list[selftest.SelfTest]]:
    _prepare(columns)
    with Run.begin() as run:
        try:
            return {
                one.title: selftest.self_test(image_of(one), wanted, run, print_progress, sabotage=sabotage)
                for one in columns
            }
        finally:
            run.end(connect())


def image_of(column: WantedColumn) -> Image:
    """Obtain the image of a version or of the user's own build. Raises KitError."""
    return column.image(print_progress)


def _prepare(columns: Sequence[WantedColumn]) -> None:
    """Make the engine and the images of the released versions ready."""
    if versions := [one.name for one in columns if one.option == VERSION]:
        make_ready(versions)
    else:
        prepare_engine((), print_progress)


@click.command(context_settings=HELP)
@versions_option("default: the newest")
@own_build_options
@click.option("--cycles", type=click.IntRange(min=1), default=200, metavar="N", help="default: 200")
@click.option("--seed", default=0, metavar="N", help="the same faults in the same order; default: 0")
@by_name
@click.option("--at-once", type=click.IntRange(1, 3), default=1, help="faults that stand together; default: 1")
@click.option("--minutes", default=math.inf, metavar="M", help="no plan begins after M minutes")
@out_option("for logs of clusters that do not become whole", "out/storm")
@form
def storm(
    cycles: int,
    seed: int,
    fault: Sequence[str],
    at_once: int,
    minutes: float,
    out: Path,
    form: Form,
    **columns: Sequence[str],
) -> int:
    """Inject and heal random faults in a row on one cluster under light traffic.

    The exit code is 0 if every one showed its witness and its consequence.
    """
    plans = draw_plans(seed, selftest.fault_kinds(list(fault)), at_once=at_once)
    column = _require_one(choose(**columns).columns)
    with progress_apart(form):
        _prepare([column])
    with Run.begin() as run:
        try:
            lab = selftest.lab_of(selftest.fault_kinds(fault) if fault else ())
            storm = Storm(selftest.Targets(image_of(column), run, lab), print_progress, out / run.id)
            try:
                with progress_apart(form):
                    storm.run(plans, cycles, minutes)
            finally:
                _print_storm(storm, form)
        finally:
            run.end(connect())
    return exit_code_of(troubled=not is_success(storm))


def _print_storm(storm: Storm, form: Form) -> None:
    if form == "json":
        print_json(as_json(storm))
    else:
        print_progress("\n".join(storm_summary(storm)))


def _require_one(columns: Sequence[WantedColumn]) -> WantedColumn:
    """Return the only version, image or distribution that was given. Raises WrongUse for none or several."""
    if len(columns) > 1:
        names = ", ".join(one.title for one in columns)
        raise WrongUse(f"A storm has one cluster, so give one version or build, not {len(columns)}: {names}.")
    return columns[0]
