"""Offsets that members commit in transactions: shown once these are committed, until a later commit."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import STALE_COORDINATOR
from conformance.judging.producers.decided_offsets import offsets_of_committed_transactions_are_readable as judge
from protocol.codes import Error
from tests.support.judging import excused, judged_by
from tests.support.producers import ProducerHistory

MEMBER = ("m", 1)


def committed(*, committed: bool = True, error: Error = Error.NONE) -> ProducerHistory:
    """Commit offset 5 of a member in a transaction, after the plain offset 4."""
    history = ProducerHistory().given().commit(3, 4, -1)
    return history.adds_offsets().commits(5, member=MEMBER, error=error).ends(committed)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(committed().committed(3, 4, -1), ["lost-offset"], id="an older one shows"),
        pytest.param(committed().committed(3, -1, -1), ["lost-offset"], id="none shows"),
        pytest.param(
            committed().kill(3).committed(1, 4, -1), ["lost-offset"], id="the next coordinator shows an older one"
        ),
        pytest.param(committed().committed(3, 5, -1), ["held"], id="it shows"),
        pytest.param(committed().commit(3, 6, -1).committed(3, 6, -1), ["held"], id="a later one shows"),
        pytest.param(
            committed().commit(3, 3, -1, lost=True).committed(3, 3, -1), ["held"], id="one may have come later"
        ),
        pytest.param(
            committed().commit(3, 6, -1, error=Error.STALE_MEMBER_EPOCH).committed(3, 6, -1),
            ["lost-offset"],
            id="a refused one shows",
        ),
        pytest.param(committed().committed(3, 4, -1, stable=False), [], id="the reader takes what is not stable"),
        pytest.param(committed(committed=False).committed(3, 4, -1), [], id="aborted"),
        pytest.param(committed(error=Error.STALE_MEMBER_EPOCH).committed(3, 4, -1), [], id="refused"),
        pytest.param(committed().committed(3, 9, -1, group="other"), [], id="another group"),
    ],
)
def test_offset_after_its_transaction(history: ProducerHistory, expected: list[str]) -> None:
    assert [one.label or one.result for one in judged_by(judge, history)] == expected


def test_offset_committed_by_no_member_is_none_of_this_row() -> None:
    history = ProducerHistory().given().adds_offsets().commits(5).ends(True).committed(3, -1, -1)
    assert judged_by(judge, history) == []


@pytest.mark.parametrize(("node", "is_excused"), [(1, True), (2, False)])
def test_offset_at_a_broker_that_is_cut_off(node: int, is_excused: bool) -> None:
    history = committed().hit("cut-off-from-controllers", node).committed(1, 4, -1)
    assert [case for case, why in excused(judge, history) if why is STALE_COORDINATOR] == ["fail-over"] * is_excused
