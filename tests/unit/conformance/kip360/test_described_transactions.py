"""A transaction as its producer knows it, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from conformance.kip360.described_transactions import KnownTransaction


def test_the_text_holds_nothing_that_differs_between_processes() -> None:
    """A stored example is judged in another process: addresses of objects and the order of sets are others there."""
    producer: Any = SimpleNamespace(producer_id=7, timeout_ms=60_000)
    known = KnownTransaction(producer=producer, epoch=2)
    known.open(("b", 0), ("a", 1), ("a", 0), around=(5, 6))
    assert str(known) == "id 7, Ongoing at epoch 2, timeout 60000 ms, partitions [a, 0], [a, 1], [b, 0], began 5, 6"
