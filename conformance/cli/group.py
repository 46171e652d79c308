"""The common part of all commands: how they are found, how options are parsed, and how they end."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from fixtures.errors import WrongUse
from fixtures.signals import interruptible
from history.exit_codes import EXIT_TROUBLE, EXIT_WRONG_USE
from protocol.errors import KitError
from reports.commands.ending import exit_code

HELP: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Context settings of every command."""
PASSING_ON: Final[dict[str, Any]] = {**HELP, "ignore_unknown_options": True}
"""The context settings of a command that passes unknown options on to pytest."""


class OnDemand(click.Group):
    """A group of commands whose modules are imported only when a command is called, so that listing commands is quick and needs
    nothing installed.

    `places` has each command's place (``module:name``), `summaries` a line of help.
    """

    def __init__(self, *, places: Mapping[str, str], summaries: Mapping[str, str], **options: Any) -> None:
        super().__init__(**options)
        self._places = places
        self._summaries = summaries
        # click takes its suggestions for an unknown name from here.
        self.commands = {name: click.Command(name, short_help=summaries[name]) for name in places}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._places:
            return None
        module, _, name = self._places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the matching commands and options without importing a command."""
        names = [name for name in self._places if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=self._summaries[name]) for name in names), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summaries[name]) for name in self._places])


def run(command: click.Command, arguments: Sequence[str], name: str, given: object = None) -> int:
    """Run a command. Returns its result, 2 for wrong use, 3 for any other error, 130 after Ctrl-C or SIGTERM.

    Tests replace engines, pytest and Spark by `given`.
    """
    try:
        with interruptible():
            return exit_code(command, arguments, name, given, known=(KitError,))
    except WrongUse as error:
        print(error, file=sys.stderr)
        return EXIT_WRONG_USE
    except KitError as error:
        print(error, file=sys.stderr)
        return EXIT_TROUBLE
