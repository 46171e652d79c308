"""`./kit pytest`, `./kit tests` and other programs of the environment, which replace this process."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from fixtures.errors import WrongUse

AS_IT_IS: Final[dict[str, Any]] = {"ignore_unknown_options": True, "help_option_names": []}
"""The context settings of a command that passes every word to its program, including --help."""
ROOT = Path(__file__).parents[2]


class _Checks(click.Command):
    """A command that knows the checks' options only for shell completion; when it runs, pytest parses them."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not ctx.resilient_parsing:
            return super().get_params(ctx)
        # Imported here, since it takes longer than everything else in this module.
        from conformance.cli.options import forwarded_options

        return [*super().get_params(ctx), *forwarded_options()]


@click.command(cls=_Checks, context_settings=AS_IT_IS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def pytest(words: Sequence[str]) -> None:
    """Run checks with pytest; its --help has the options of the kit in the group "Kafka conformance"."""
    _become_module("conformance.cli.checks", words)


@click.command(context_settings=AS_IT_IS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def tests(words: Sequence[str]) -> None:
    """Run the kit's own tests: all of them in two parts, or one pytest if there are options."""
    _refuse_installed("tests")
    _become_module("tests", words)


@click.command(context_settings=AS_IT_IS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def miniature(words: Sequence[str]) -> None:
    """Run the machines on a cluster in memory, with planted bugs."""
    _refuse_installed("miniature")
    _become_module("tests.miniature", words)


def _refuse_installed(command: str) -> None:
    """Raise WrongUse if only the wheel is installed, which has no tests/."""
    if not (ROOT / "tests").is_dir():
        raise WrongUse(
            f"{command}: the kit's own tests are in its repository and are not installed. Run ./kit {command} in a checkout."
        )


def find_program(name: str) -> click.Command | None:
    """Return a program of the virtual environment, such as ruff; None if it has none of that name."""
    path = Path(sys.prefix, "bin", name)
    if sys.prefix == sys.base_prefix or not path.is_file():
        return None

    @click.command(name, context_settings=AS_IT_IS)
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def command(words: Sequence[str]) -> None:
        _replace_process([str(path), *words])

    return command


def _become_module(module: str, words: Sequence[str]) -> None:
    _replace_process([sys.executable, "-m", module, *words])


def _replace_process(words: Sequence[str]) -> None:
    sys.stdout.flush()
    os.execv(words[0], list(words))
