"""`python -m reports --in DIR/shards --out DIR/matrix`, `… diff`, `… explain`; also the script for `spark-submit`."""

import sys
from collections.abc import Sequence

import click

from reports.commands.diff import diff
from reports.commands.ending import exit_code
from reports.commands.explain import explain
from reports.commands.merge import merge
from reports.commands.options import HELP


class _MergeFirst(click.Group):
    """A group that merges if no command is given: `--in DIR --out DIR` are options of `merge`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = not args or not args[0].startswith("-") or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if named else ["merge", *args])


reports = _MergeFirst(
    name="report",
    help="Merge shards (--in DIR --out DIR), compare two columns, or explain a cell.",
    commands=[merge, diff, explain],
    context_settings=HELP,
    no_args_is_help=True,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: done; 1: worse, with `diff --fail-on-worse`; 2: wrong use, or shards that contradict each other; 3: trouble.
    """
    return exit_code(reports, sys.argv[1:] if arguments is None else arguments, "python -m reports")


if __name__ == "__main__":
    sys.exit(main())
