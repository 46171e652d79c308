"""The options that several commands have."""

import os
import sys
from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from conformance.campaign.plan import ColumnRun, column_runs_for
from conformance.cli.checks import SHORT, long_form
from conformance.core.machines import all_machines
from conformance.core.profiles import MINUTES
from conformance.running.columns import (
    AS,
    HOME,
    IMAGE,
    JARS_IN,
    LABEL,
    VERSION,
    Overrides,
    WantedColumn,
    wanted_columns,
)
from conformance.running.session import machine_name
from conformance.running.settings import AS_HELP, DEVIATIONS_HELP, LABEL_HELP, LIBS_HELP, OPTIONS, Option
from fixtures.errors import WrongUse
from fixtures.images import check_home, newest_patches, released_versions, select_versions
from reports.commands.options import Complete, Form, complete_rows, completing

F = TypeVar("F", bound=Callable[..., Any])
VERSIONS = "a version, a range such as 3.9..4.3, `all` (the newest patch of each minor) or `released` (every patch)"


complete_versions = completing(lambda: dict.fromkeys(("all", "released", *newest_patches(), *released_versions())))
complete_machines = completing(lambda: (machine_name(each) for each in all_machines().values()))


class ColumnChoice(NamedTuple):
    """The columns that a user requested, with overrides of their defaults; `versions` as the user wrote them."""

    versions: Sequence[str]
    images: Sequence[str]
    homes: Sequence[str]
    overrides: Overrides = Overrides()

    @property
    def columns(self) -> list[WantedColumn]:
        """The requested columns, or the newest version if none was requested. Raises UnknownVersion, WrongUse."""
        own = self.images or self.homes
        versions = select_versions(list(self.versions)) if self.versions or not own else ()
        return self.with_versions(versions)

    def with_versions(self, versions: Sequence[str]) -> list[WantedColumn]:
        """Return the columns with these versions. Raises WrongUse."""
        for home in self.homes:
            check_home(home)
        try:
            return wanted_columns(versions, self.images, self.homes, self.overrides)
        except ValueError as error:
            raise WrongUse(str(error)) from error

    @property
    def runs(self) -> list[ColumnRun]:
        return column_runs_for(self.columns)


def own_build_options(command: F) -> F:
    """Add the options for the user's own builds and the names of columns, whose values `choose` takes."""
    for option in (
        click.option(JARS_IN, "kafka_libs", multiple=True, metavar="[IMAGE=]PATH", help=LIBS_HELP),
        click.option(AS, "judged_as", multiple=True, metavar="[BUILD=]V", help=AS_HELP),
        click.option(LABEL, multiple=True, metavar="[COLUMN=]NAME", help=LABEL_HELP),
        click.option(HOME, multiple=True, type=click.Path(), metavar="DIR|TGZ", help="a Kafka of your own; repeatable"),
        click.option(IMAGE, multiple=True, metavar="IMAGE", help="an image of your own; repeatable"),
    ):
        command = option(command)
    return command


def versions_option(text: str, *names: str) -> Callable[[F], F]:
    """Return the option that names versions."""
    return click.option(VERSION, *names, multiple=True, metavar="V", help=text, shell_complete=complete_versions)


def column_options(command: F) -> F:
    """Add all options that name columns."""
    return versions_option(f"{VERSIONS}; repeatable")(own_build_options(command))


def choose(
    *,
    kafka_version: Sequence[str] = (),
    kafka_image: Sequence[str] = (),
    kafka_home: Sequence[str] = (),
    label: Sequence[str] = (),
    judged_as: Sequence[str] = (),
    kafka_libs: Sequence[str] = (),
) -> ColumnChoice:
    """Choose the columns, each once: those on the command line, or those of the environment if the command line has none of that
    kind."""
    overrides = Overrides(
        labels=label or _lines_of("LABEL"),
        judged_as=judged_as or _lines_of("AS"),
        libs=kafka_libs or _lines_of("KAFKA_LIBS"),
    )
    homes = [home for home in os.environ.get(environment_variable("KAFKA_HOME"), "").split(os.pathsep) if home]
    return ColumnChoice(
        _without_repeats(kafka_version or _values_in_environment("KAFKA_VERSION")),
        _without_repeats(kafka_image or _values_in_environment("KAFKA_IMAGE")),
        _without_repeats(kafka_home or homes),
        overrides,
    )


def _values_in_environment(option: str) -> list[str]:
    return os.environ.get(environment_variable(option), "").replace(",", " ").split()


def _lines_of(option: str) -> list[str]:
    return os.environ.get(environment_variable(option), "").splitlines()


def _without_repeats(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def environment_variable(option: str) -> str:
    """Return the name of the environment variable for an option of pytest."""
    return f"KAFKA_CONFORMANCE_{option}"


def progress_apart(form: Form) -> AbstractContextManager[object]:
    """Print progress to stderr while a command that answers in JSON works."""
    return redirect_stdout(sys.stderr) if form == "json" else nullcontext()


pytest_options = click.argument(
    "rest",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="[PYTEST OPTIONS]...",
    callback=lambda _context, _parameter, words: tuple(map(long_form, words)),
)
"""Words that the command does not know, in order."""


_COMPLETED: dict[str, Complete] = {
    "--kafka-version": complete_versions,
    "--conformance-profile": completing(lambda: MINUTES),
    "--requirement": complete_rows,
    "--conformance-machines": complete_machines,
}
_NAMES_OF = {name: [name, short] for short, name in SHORT.items()}


class ForwardedOption(click.Option):
    """An option of pytest that help and completion know. The parser treats it as unknown, and so as one of `pytest_options`."""

    def __init__(self, option: Option) -> None:
        super().__init__(
            _NAMES_OF.get(option.flag, [option.flag]),
            help=option.help,
            metavar=option.metavar,
            is_flag=option.action == "store_true",
            type=click.Path() if option.metavar in ("DIR", "FILE", "MATRIX", "DIR|TGZ") else None,
            shell_complete=_COMPLETED.get(option.flag),
            expose_value=False,
        )

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Leave the option to pytest."""


def forwarded_options(but: Container[str] = ()) -> list[click.Parameter]:
    """Return the checks' options, except those in `but`."""
    return [ForwardedOption(option) for option in OPTIONS if option.flag not in but]


def add_passed_on_options(command: click.Command, chosen: Sequence[str] = ()) -> None:
    """Add the checks' options to a command's help, except its own and those that it sets itself."""
    command.params += forwarded_options({*chosen, *(name for own in command.params for name in own.opts)})


# --- known deviations

deviations_option = click.option(
    "--deviations",
    multiple=True,
    envvar=environment_variable("DEVIATIONS"),
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help=DEVIATIONS_HELP,
)


def deviations_options(files: Sequence[str]) -> list[str]:
    """Return the options that make pytest and the merge read these files, from any folder."""
    return [word for file in files for word in ("--deviations", str(Path(file).absolute()))]
