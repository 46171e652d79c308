"""The description of the nodes' disks, reduced to what concerns a violation."""

import re
from collections.abc import Collection, Iterator, Sequence

from history.subjects import Subject, names_of_kind

DISK_LINES = 14
"""The maximum number of lines about disks in a report."""
BATCHES = 4
"""The maximum number of batches per replica: those about the subjects, or else the last ones."""

_BATCH, _OTHERS = re.compile(r" {6}\d"), re.compile(r" {6}and (\d+) of others")


def disk_lines_about(disk: str, subjects: Collection[Subject]) -> list[str]:
    """Return the lines of a description that concern these subjects. Nodes with equal replicas share the lines."""
    needles = [f"producer {name} " for name in names_of_kind(subjects, "producer")]
    needles += [name for kind in ("transactional-id", "group", "member") for name in names_of_kind(subjects, kind)]
    alike: dict[tuple[str, ...], list[str]] = {}
    for node, lines in _replicas(disk.splitlines()):
        alike.setdefault(tuple(_choose_lines(lines, needles)), []).append(node)
    return [line for lines, nodes in alike.items() for line in (f"{', '.join(nodes)}  {lines[0]}", *lines[1:])]


def _replicas(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each node with a replica or file: first its headline without the node's name, then the lines below."""
    found: list[str] = []
    for line in [*lines, ""]:
        if found and not line.startswith(" "):
            node, _, first = found[0].partition(" ")
            yield node, [first, *found[1:]]
            found = []
        if line:
            found.append(line)


def _choose_lines(lines: Sequence[str], needles: Sequence[str]) -> Iterator[str]:
    """Yield the headline, and the batches that contain one of the needles, or else the last batches."""
    yield lines[0]
    batches = [line for line in lines[1:] if _BATCH.match(line)]
    others = sum(int(found[1]) for line in lines[1:] if (found := _OTHERS.match(line)))
    about = [line for line in batches if any(needle in line for needle in needles)] or batches
    kept = about[-BATCHES:]
    yield from kept
    yield from (line for line in lines[1:] if line.startswith("      then "))
    if left_out := len(batches) + others - len(kept):
        yield f"      ({left_out} more batches)"
