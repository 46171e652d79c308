"""Fetches that a frozen follower had on their way when it was asked."""

import pytest

from conformance.kip595.frozen_no_effect import is_late
from history.readings import Received


def sent(api: str, epoch: int) -> Received:
    partition = {"partition": 0, "current_leader_epoch": epoch}
    return Received(number=1, peer=2, api=api, version=13, body={"topics": [{"partitions": [partition]}]}, at=0.0)


@pytest.mark.parametrize(
    ("api", "epoch", "expected"), [("Fetch", 4, True), ("Fetch", 5, False), ("Fetch", 6, False), ("Vote", 4, False)]
)
def test_only_a_fetch_of_an_earlier_epoch_was_on_its_way(api: str, epoch: int, expected: bool) -> None:
    assert is_late(sent(api, epoch), sent("Fetch", 5)) is expected
