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
    """The columns that a user asked for: released versions, images and distributions."""

    versions: Sequence[str]
    images: Sequence[str]
    homes: Sequence[str]

    @property
    def runs(self) -> list[ColumnRun]:
        """The newest version if nothing was asked for. Raises UnknownVersion."""
        own = self.images or self.homes
        return column_runs_for(select(list(self.versions)) if self.versions or not own else (), self.images, self.homes)


def column_options(command: F) -> F:
    """The options that name columns: `kafka_version`, `kafka_image` and `kafka_home`."""
    for option in (
        click.option("--kafka-home", multiple=True, metavar="DIR|TGZ", help="a Kafka of your own; repeatable"),
        click.option("--kafka-image", multiple=True, metavar="IMAGE", help="an image of your own; repeatable"),
        click.option("--kafka-version", multiple=True, metavar="V", help=f"{VERSIONS}; repeatable"),
    ):
        command = option(command)
    return command


def chosen(kafka_version: Sequence[str], kafka_image: Sequence[str], kafka_home: Sequence[str]) -> Chosen:
    """Columns that the environment names count where the command names none of that kind; the same one counts once."""
    versions, images = (_words(os.environ.get(variable(name), "")) for name in ("KAFKA_VERSION", "KAFKA_IMAGE"))
    homes = [home for home in os.environ.get(variable("KAFKA_HOME"), "").split(os.pathsep) if home]
    return Chosen(*map(_once, (kafka_version or versions, kafka_image or images, kafka_home or homes)))


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def variable(option: str) -> str:
    """The environment variable of an option of pytest's."""
    return f"KAFKA_CONFORMANCE_{option}"


pytest_options = click.argument("rest", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST OPTIONS]...")
"""Words that the command does not know, in their order."""
