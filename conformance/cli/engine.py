"""`./kit setup` and `./kit sweep`: the engine, the images, and what was left on it."""

from collections.abc import Sequence

import click

from conformance.cli.group import HELP
from conformance.cli.options import VERSIONS, progress_apart, versions_option
from fixtures.engine import ensure
from fixtures.images import select_versions
from fixtures.ready import prepare_engine
from fixtures.runs import forget
from fixtures.runs import sweep as sweep_engine
from reports.commands.options import Form, form, print_json


@click.command(context_settings=HELP)
@versions_option(f"{VERSIONS}; repeatable; default: the newest")
def setup(kafka_version: Sequence[str]) -> None:
    """Make the Docker engine answer, and the images of each version ready; nothing else is changed.

    As root, an engine that is missing is installed from Debian's packages.
    """
    make_ready(kafka_version)


def make_ready(versions: Sequence[str]) -> None:
    """Make sure that an engine answers, and obtain the images of these versions. Raises UnknownVersion and KitError."""
    wanted = select_versions(list(versions))
    prepare_engine(wanted, print_progress)
    if wanted:
        print_progress(f"ready: the Docker engine, and Kafka {', '.join(wanted)}")


@click.command(context_settings=HELP)
@click.argument("kept", nargs=-1, metavar="[RUN]...")
@form
def sweep(kept: Sequence[str], form: Form) -> None:
    """Remove what dead runs of this host left on the engine, and each kept RUN that is named."""
    with progress_apart(form):
        client = ensure(install=False)
        removed = [name for run in kept for name in forget(client, run)] + sweep_engine(client, print_progress)
    if form == "json":
        print_json(removed)
    else:
        print_progress(f"{len(removed)} things removed")


def print_progress(text: str) -> None:
    """Print a line of progress at once."""
    print(text, flush=True)
