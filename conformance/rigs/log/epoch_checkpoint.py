"""leader-epoch-checkpoint: the leader epoch cache of a replica on disk (KIP-101, Leader Epoch Sequence File)."""

import re
from collections.abc import Callable

from conformance.core.waiting import WITHIN
from conformance.rigs.log.partition import Boundary, Partition
from history.due import is_starved
from history.readings import File

_FORM = re.compile(rb"0\n(\d+)\n((?:\d+ \d+\n)*)")

WRITE_TIMEOUT = WITHIN
"""Seconds within which the file must be written: from 3.8 on some writes are asynchronous, with the general bound."""


def entries_of(file: File) -> tuple[Boundary, ...] | None:
    """Return the entries of a file; None if it is missing or malformed, e.g. by a wrong number of entries."""
    form = _FORM.fullmatch(file.content or b"")
    if form is None:
        return None
    pairs = (line.split() for line in form[2].splitlines())
    entries = tuple(Boundary(int(epoch), int(start)) for epoch, start in pairs)
    return entries if len(entries) == int(form[1]) else None


def entry_of(file: File, epoch: int) -> Boundary | None:
    return next((entry for entry in entries_of(file) or () if entry.epoch == epoch), None)


def read_epochs(partition: Partition, broker: int, until: Callable[[File], bool]) -> File:
    """Return a replica's file once `until` holds for it, or else at the end of the time in which it must be written.
    Raises Overdue if the kit starved meanwhile, so that the file proves nothing."""
    bench = partition.bench
    path = f"{partition.name}-{partition.index}/leader-epoch-checkpoint"
    began = bench.now().seconds

    def read() -> File | None:
        file = bench.read_file(bench.name_of(broker), path)
        return file if until(file) or bench.now().seconds - began > WRITE_TIMEOUT else None

    file = bench.eventually(read, f"a reading of {path} on {broker}", within=WRITE_TIMEOUT + 10, due=None)
    if not until(file) and is_starved(bench.wait.recorded_late(WRITE_TIMEOUT), WRITE_TIMEOUT):
        raise bench.wait.overdue("step", f"{path} of {broker} as it must be", WRITE_TIMEOUT)
    return file
