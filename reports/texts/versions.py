"""Columns and version ranges in a few words: `3.3.2–3.5.2, 4.0.1`."""

from collections.abc import Collection, Iterator, Sequence

from reports.insights import Firsts, is_release

_NAMED = 3
"""The columns that were not run that are named, if there are more."""


def spans(labels: Collection[str], columns: Sequence[str]) -> str:
    """Return neighbouring releases of `columns` as spans, then each other label by itself."""
    releases = [label for label in columns if is_release(label)]
    runs = [run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in _runs_of_releases(releases, labels)]
    return ", ".join([*runs, *(label for label in columns if label in labels and label not in releases)])


def _runs_of_releases(releases: Sequence[str], labels: Collection[str]) -> Iterator[list[str]]:
    run: list[str] = []
    for label in releases:
        if label in labels:
            run.append(label)
        elif run:
            yield run
            run = []
    if run:
        yield run


def in_words(versions: str) -> str:
    """Return a range such as `3.3..3.7` in words: `3.3 to 3.7`."""
    low, high = versions.split("..")
    if not high:
        return f"{low} and later" if low else "every version"
    if low == high:
        return low
    return f"{low} to {high}" if low else f"up to {high}"


def broken_since(firsts: Firsts, *, race: bool = False) -> str:
    """Return since when a row is broken, and whether it was mended; "" if no released version breaks it.

    A `race` shows only by chance, so good versions prove little.
    """
    if not firsts.first_bad:
        return ""
    if race:
        return f"Seen in {', '.join(firsts.bad)}; a race: where it was not met, nothing is known"
    good = f"{with_age(firsts, firsts.last_good)} was good" if firsts.last_good else ""
    before = "; ".join(filter(None, [good, unrun_in_words(firsts.unrun_before)]))
    began = f"Since {with_age(firsts, firsts.first_bad)}"
    began += "" if firsts.last_good else " or before"
    began += f" ({before})" if before else ""
    mended = (
        f"mended in {with_age(firsts, firsts.first_good)}" if firsts.first_good else f"last seen in {firsts.bad[-1]}"
    )
    after = unrun_in_words(firsts.unrun_after)
    return f"{began}, {mended}" + (f" ({after})" if after else "")


def with_age(firsts: Firsts, label: str) -> str:
    """Return the label of a column, with its age if it was carried over."""
    return f"{label} [{age}]" if (age := firsts.ages.get(label)) else label


def unrun_in_words(labels: Sequence[str]) -> str:
    """Say which columns were not run; of many only the first are named."""
    more = [f"{len(labels) - _NAMED} more"] if len(labels) > _NAMED + 1 else []
    named = labels[:_NAMED] if more else labels
    return f"{', '.join([*named, *more])} not run" if labels else ""
