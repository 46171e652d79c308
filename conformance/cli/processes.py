"""`./kit pytest`, `./kit tests` and other programs of the environment, which take the place of this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.engine import make_ready
from fixtures.errors import WrongUse

AS_IT_IS: Final[dict[str, Any]] = {"ignore_unknown_options": True, "help_option_names": []}
"""Every word is the program's, --help too."""
ROOT = Path(__file__).parents[2]
NEEDED = ("3.9.2", "4.3.1")
"""The versions that the kit's own tests start."""
PACKAGES = {"docker-registry": ("docker-registry",), "chromium": ("chromium", "fonts-dejavu-core")}
"""By program, packages of Debian's: images are pulled from a registry on 127.0.0.1, and a browser opens the site. Tests that need
one that is missing are skipped, and say so."""


@click.command(context_settings=AS_IT_IS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def pytest(words: Sequence[str]) -> None:
    """Run checks with pytest; its --help has the options of the kit in the group "Kafka conformance"."""
    _become("conformance.cli.checks", words)


@click.command(context_settings=AS_IT_IS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def tests(words: Sequence[str]) -> None:
    """The kit's own tests: all in two parts, or one pytest with the options that are given."""
    if not (ROOT / "tests").is_dir():
        raise WrongUse(
            "tests: the kit's own tests are in its repository and are not installed. Run ./kit tests in a checkout."
        )
    if not {"-h", "--help"} & set(words):
        _install(PACKAGES)
        make_ready(NEEDED)
    _become("tests", words)


def program(name: str) -> click.Command | None:
    """A program of the virtual environment, such as ruff; None if there is none of that name."""
    path = Path(sys.prefix, "bin", name)
    if sys.prefix == sys.base_prefix or not path.is_file():
        return None

    @click.command(name, context_settings=AS_IT_IS)
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def command(words: Sequence[str]) -> None:
        _replace([str(path), *words])

    return command


def _become(module: str, words: Sequence[str]) -> None:
    _replace([sys.executable, "-m", module, *words])


def _replace(words: Sequence[str]) -> None:
    sys.stdout.flush()
    os.execv(words[0], list(words))


def _install(packages: Mapping[str, Sequence[str]]) -> None:
    """Those that are missing, as root on Debian; elsewhere nothing."""
    lacking = [name for needed, names in packages.items() if not shutil.which(needed) for name in names]
    if not lacking or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *lacking]):
        subprocess.run(["apt-get", "-qq", *words], env=quiet, stdout=subprocess.DEVNULL, check=True)
