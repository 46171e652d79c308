"""Files of a broker's disk, as Kafka writes them."""

from collections.abc import Iterable

from kafka.record.util import calc_crc32c

from fixtures.disk.producers import COUNT, HEAD, VERSION
from history.readings import EpochEntry


def epoch_file(entries: Iterable[EpochEntry]) -> bytes:
    """Return a leader-epoch-checkpoint."""
    return checkpoint(f"{entry.epoch} {entry.start_offset}" for entry in entries)


def checkpoint(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in ["0", str(len(lines)), *lines]).encode()


def producer_snapshot(*entries: bytes) -> bytes:
    """Return a producers' snapshot with a correct CRC."""
    body = COUNT.pack(len(entries)) + b"".join(entries)
    return HEAD.pack(VERSION, calc_crc32c(body)) + body
