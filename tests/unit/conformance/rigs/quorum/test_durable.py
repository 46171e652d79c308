"""A file's modification time beside the arrival of an answer or a request."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import ObservationClaim
from conformance.core.cluster import Moment
from conformance.rigs.quorum.durable import arrival_ms, durable_if
from history.readings import File, Received


class Clocks:
    """A bench whose monotonic clock is at 20 s."""

    def now(self) -> Moment:
        return Moment(20.0, 1_700_000_000_500)


def results(right: bool, modified_ms: int | None) -> list[str]:
    claims = durable_if(right, File(b"{}", modified_ms), 5000, detail="the answer")
    return [claim.observation.result for claim in claims if isinstance(claim, ObservationClaim)]


def test_a_request_arrived_before_now_by_as_much_as_the_monotonic_clock_says() -> None:
    asked = Received(number=1, peer=2, api="Vote", version=2, body={}, at=19.75)
    assert arrival_ms(cast(Bench, Clocks()), asked) == 1_700_000_000_250


@pytest.mark.parametrize(
    ("modified_ms", "result"), [(4000, "held"), (5000, "held"), (5001, "violated"), (9000, "violated")]
)
def test_a_file_has_to_be_written_by_the_moment(modified_ms: int, result: str) -> None:
    assert results(True, modified_ms) == [result]


def test_a_wrong_file_is_violated_whenever_it_was_written() -> None:
    assert [results(False, modified) for modified in (4000, 9000, None)] == [["violated"]] * 3


def test_a_history_without_the_time_shows_nothing_of_a_right_file() -> None:
    assert results(True, None) == []
