"""The engine, pytest, Spark and clock of the commands that run checks."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from conformance.campaign.column_runs import PYTEST
from conformance.cli.engine import print_progress
from conformance.running.columns import WantedColumn
from fixtures.images import is_at_hand
from fixtures.ready import prepare_engine
from mutants.build import canary_image

Prepare = Callable[[Sequence[str]], object]
"""A function that makes an engine and the images of some versions ready."""
Merge = Callable[[Path, Sequence[str]], int]
"""A function that merges the shards of a folder, with options of `python -m reports`; returns an exit code."""


def merge_with_spark(out: Path, options: Sequence[str]) -> int:
    """Merge in a separate process; return its exit code."""
    began = time.monotonic()
    command = [sys.executable, "-m", "reports", "--in", str(out / "shards"), "--out", str(out / "matrix")]
    code = subprocess.run([*command, *options], stdout=sys.stdout, check=False).returncode
    print_progress(f"merge: {time.monotonic() - began:.0f} s")
    return code


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """The engine, pytest, Spark and clock of a command; tests replace them."""

    prepare: Prepare = lambda versions: prepare_engine(versions, print_progress)
    pytest: Sequence[str] = PYTEST
    merge: Merge = merge_with_spark
    canary: Callable[[str, str], str] = lambda mutant, version: canary_image(mutant, version, print_progress)
    clock: Callable[[], float] = time.monotonic
    at_hand: Callable[[str], bool] = is_at_hand
    version_of: Callable[[WantedColumn], str] = lambda column: column.image(print_progress).version
