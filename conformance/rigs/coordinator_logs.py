"""The coordinators' internal topics, read by Fetch and compared with what coordinators answer at rest (GEN-13)."""

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

from conformance.core.checks import Claim, premise
from fixtures.wire import NodeClient
from protocol.errors import KitError
from protocol.log import FetchPartition
from protocol.records import Batch

D = TypeVar("D")
L = TypeVar("L")


def batches_from(node: NodeClient, topic: str, index: int, start: int) -> Iterator[Batch]:
    """Yield the batches of a partition from an offset to the high watermark. Raises KitError if a fetch is empty."""
    offset = start
    while offset < node.list_offsets(topic, index).offset:
        fetched = node.fetch(FetchPartition(topic, index, offset))
        if not fetched.batches:
            raise KitError(f"{topic}-{index} could not be read from {offset} on: {fetched}")
        for batch in fetched.batches:
            yield batch
            offset = batch.last_offset + 1


def described_at_rest(
    describe: Callable[[], D], newest: Callable[[], L], rests: Callable[[D], bool]
) -> Generator[Claim, None, tuple[D, L]]:
    """Return a description and the newest record. Yields the premise that the description `rests` and is the same
    before and after that record was read."""
    before, logged, shown = describe(), newest(), describe()
    yield premise(
        before == shown and rests(shown), f"at rest: {shown}{'' if before == shown else f', and {before} before'}"
    )
    return shown, logged
