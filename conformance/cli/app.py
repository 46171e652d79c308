"""All commands, in the order in which a newcomer needs them."""

import sys
from collections.abc import Sequence

import click

from conformance.cli.group import HELP, OnDemand, run
from conformance.cli.processes import find_program
from history import __version__
from history.command import COMMAND

COMMANDS = {
    "matrix": (
        "conformance.cli.matrix:matrix",
        "Check versions, images or distributions, and merge them into a matrix.",
    ),
    "rows": ("conformance.cli.rows:rows", "What is checked: the catalogue, without a run."),
    "merge": ("reports.commands.merge:merge", "Merge shards into a matrix."),
    "diff": ("reports.commands.diff:diff", "Compare two columns, or two matrices."),
    "explain": (
        "reports.commands.explain:explain",
        "Explain a cell: its verdict, its evidence, a command to see it again.",
    ),
    "bisect": ("conformance.cli.bisect:bisect", "Find the releases in which a row's verdict changes."),
    "hunt": ("conformance.cli.hunt:hunt", "Let the machines alone look for violations, for hours."),
    "night": ("conformance.cli.night:night", "Run all versions every night, and publish what is whole."),
    "rejudge": ("conformance.cli.rejudge:rejudge_stored", "Judge stored histories again, without a cluster."),
    "faults": ("conformance.cli.faults:faults", "Inject each fault once on real brokers, and show its witness."),
    "storm": ("conformance.cli.faults:storm", "Random faults in a row on one cluster."),
    "mutants": ("mutants.command:mutants", "Brokers with a planted bug: build one, compare its column."),
    "miniature": (
        "conformance.cli.processes:miniature",
        "Machines on a cluster in memory: which judge catches which bug.",
    ),
    "benchmarks": ("benchmarks.command:benchmarks", "The kit's own measurements."),
    "setup": ("conformance.cli.engine:setup", "Make the Docker engine and images ready, nothing else."),
    "sweep": ("conformance.cli.engine:sweep", "Remove what dead runs left on the engine."),
    "pytest": ("conformance.cli.processes:pytest", "Run checks with pytest, with all of its options."),
    "docs": ("conformance.cli.docs:docs", "Build these pages as a site with search, or serve it."),
    "tests": ("conformance.cli.processes:tests", "The kit's own tests."),
    "completion": (
        "conformance.cli.completion:completion",
        "Complete commands, options and values in bash, zsh or fish.",
    ),
}
"""The commands by name: module and function, and a line of help."""


class _Kit(OnDemand):
    """The kit's commands and the programs of the virtual environment."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or find_program(cmd_name)


kit = _Kit(
    name="kit",
    help="Does this Kafka do what its specifications promise, also while things break?",
    epilog="Each command has its own --help. A program of the environment is run by its name, "
    f"as in `{COMMAND} spark-submit`.\n\nExit codes: 0 nothing violated, 1 a requirement is violated, 2 wrong use, "
    "3 trouble of the kit or the machine, 130 interrupted.",
    places={name: place for name, (place, _) in COMMANDS.items()},
    summaries={name: summary for name, (_, summary) in COMMANDS.items()},
    context_settings=HELP,
    no_args_is_help=True,
)
kit = click.version_option(__version__, prog_name="kafka-conformance-kit")(kit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the kit. Returns the exit code: 0, 1 for any violation, 2 wrong use, 3 error of the kit, 130 interrupted."""
    return run(kit, _with_options(sys.argv[1:] if arguments is None else arguments), COMMAND)


def _with_options(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments with the words `help` and `version`, commands of many programs, as options."""
    match list(arguments):
        case ["help", *command]:
            return [*command, "--help"]
        case ["version"]:
            return ["--version"]
    return arguments
