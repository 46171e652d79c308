"""The options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from conformance.campaign.plan import ColumnRun, column_runs_for
from fixtures.images import select

F = TypeVar("F", bound=Callable[..., Any])
VERSIONS = "a version, a range such as 3.9..4.3, `all` (the newest patch of each minor) or `released` (every patch)"


class Chosen(NamedTuple):
    """The columns that a user asked for: released versions, an image and a distribution; the last two may be empty."""

    versions: Sequence[str]
    image: str
    home: str

    @property
    def runs(self) -> list[ColumnRun]:
        """The newest version if nothing was asked for. Raises UnknownVersion."""
        own = self.image or self.home
        return column_runs_for(select(list(self.versions)) if self.versions or not own else (), self.image, self.home)


def column_options(command: F) -> F:
    """The options that name columns: `kafka_version`, `kafka_image` and `kafka_home`."""
    for option in (
        click.option(
            "--kafka-home", envvar=variable("KAFKA_HOME"), default="", metavar="DIR|TGZ", help="a Kafka of your own"
        ),
        click.option(
            "--kafka-image", envvar=variable("KAFKA_IMAGE"), default="", metavar="IMAGE", help="an image of your own"
        ),
        click.option("--kafka-version", multiple=True, metavar="V", help=f"{VERSIONS}; repeatable"),
    ):
        command = option(command)
    return command


def chosen(kafka_version: Sequence[str], kafka_image: str, kafka_home: str) -> Chosen:
    """Versions that the environment names count where the command names none."""
    named = os.environ.get(variable("KAFKA_VERSION"), "").replace(",", " ").split()
    return Chosen(kafka_version or named, kafka_image, kafka_home)


def variable(option: str) -> str:
    """The environment variable of an option of pytest's."""
    return f"KAFKA_CONFORMANCE_{option}"


pytest_options = click.argument("rest", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST OPTIONS]...")
"""Words that the command does not know, in their order."""
