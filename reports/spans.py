"""Columns told in a few words: `3.3.2–3.5.2, 4.0.1`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

RELEASE = r"^[0-9]+(\.[0-9]+)+$"
"""The label of a released version; labels of users' images and of columns with features say more."""


def is_release(label: str) -> bool:
    return re.search(RELEASE, label) is not None


def spans(labels: Collection[str], columns: Sequence[str]) -> str:
    """Releases that follow each other in `columns` as one span, then each other label by itself."""
    releases = [label for label in columns if is_release(label)]
    runs = [run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in _runs(releases, labels)]
    return ", ".join([*runs, *(label for label in columns if label in labels and label not in releases)])


def _runs(releases: Sequence[str], labels: Collection[str]) -> Iterator[list[str]]:
    run: list[str] = []
    for label in releases:
        if label in labels:
            run.append(label)
        elif run:
            yield run
            run = []
    if run:
        yield run
