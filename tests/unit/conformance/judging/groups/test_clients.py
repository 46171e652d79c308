"""Owners of partitions, as clients of librdkafka tell them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.groups.clients import clients_share_nothing
from conformance.judging.judge import judge_history
from tests.support.groups import GroupHistory


def shared() -> GroupHistory:
    return GroupHistory().has("a", 0, 1)


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        pytest.param(lambda: shared().has("b", 1), ["two-owners"], id="its owner still has it"),
        pytest.param(lambda: shared().has("b", 1).gives_up("a", 0), ["two-owners"], id="its owner gives it up later"),
        pytest.param(lambda: shared().gives_up("a", 0).has("b", 1), ["held"], id="its owner gave it up"),
        pytest.param(lambda: shared().gives_up("a", 1).has("b", 1), ["two-owners"], id="its owner gave up another one"),
        pytest.param(lambda: shared().gives_up("a").has("b", 0, 1), ["held", "held"], id="its owner left"),
        pytest.param(
            lambda: shared().gives_up("a", 0).has("b", 1).gives_up("b").has("a", 0, 1),
            ["held", "held"],
            id="it came back",
        ),
        pytest.param(
            lambda: shared().gives_up("a", 0).has("b", 1).has("a", 0, 1),
            ["held", "two-owners"],
            id="it came back too early",
        ),
        pytest.param(lambda: shared().has("a", 0, 1, 2), [], id="its owner is assigned more"),
        pytest.param(lambda: shared().gives_up("a", 0).has("a", 0, 1), [], id="its owner has it again"),
        pytest.param(lambda: shared().has("b", 1).has("a", 0, how="lost"), [], id="its owner had been removed"),
        pytest.param(
            lambda: shared().has("b", 1).has("a", 0, how="lost").has("c", 1),
            ["two-owners"],
            id="its owner had been removed, and the next one had not",
        ),
        pytest.param(lambda: shared().has("b", 1, group="other"), [], id="in another group"),
    ],
)
def test_partition_that_a_client_is_assigned(tells: Callable[[], GroupHistory], expected: list[str]) -> None:
    found = judge_history([clients_share_nothing], tells().history).observations
    assert {(one.requirement, one.case) for one in found} <= {("KIP1251-INV-08", "client")}
    assert [one.label or one.result for one in found] == expected
