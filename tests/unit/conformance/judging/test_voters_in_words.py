"""Requests and answers of a scripted quorum's peers, in words."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judging.voters_in_words import OUTCOMES, REQUESTS


def received(api: str, **partition: Any) -> dict[str, Any]:
    body = {"topics": [{"partitions": [partition]}]} if partition else {}
    return {"received": {"number": 7, "peer": 2, "api": api, "body": body}}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            received("Vote", pre_vote=True, replica_epoch=4, last_offset=9, last_offset_epoch=3),
            "number 7, to voter 2: pre-vote at epoch 4, log end 9 of epoch 3",
        ),
        (
            received("Vote", candidate_epoch=5, last_offset=9, last_offset_epoch=3),
            "number 7, to voter 2: Vote at epoch 5, log end 9 of epoch 3",
        ),
        (
            received("Fetch", current_leader_epoch=4, fetch_offset=9, last_fetched_epoch=3),
            "number 7, to voter 2: Fetch at epoch 4 from 9 last fetched 3",
        ),
        (
            received("BeginQuorumEpoch", leader_id=101, leader_epoch=4),
            "number 7, to voter 2: BeginQuorumEpoch of leader 101 at epoch 4",
        ),
        (
            received("EndQuorumEpoch", leader_id=101, leader_epoch=4, preferred_candidates=[{"candidate_id": 3}]),
            "number 7, to voter 2: EndQuorumEpoch of leader 101 at epoch 4, successors 3",
        ),
        (
            received("EndQuorumEpoch", leader_id=101, leader_epoch=4, preferred_successors=[2, 3]),
            "number 7, to voter 2: EndQuorumEpoch of leader 101 at epoch 4, successors 2, 3",
        ),
        (received("FetchSnapshot", position=0), "number 7, to voter 2: FetchSnapshot"),
        (received("ApiVersions"), "number 7, to voter 2: ApiVersions"),
        ({"received": None}, "none came"),
    ],
)
def test_a_request_is_told_with_its_epoch_and_place(value: dict[str, Any], text: str) -> None:
    assert OUTCOMES["receive"](value) == text


def test_what_is_waited_for() -> None:
    assert [REQUESTS["receive"]({"api": api}) for api in ("", "Vote")] == ["for a request", "for Vote"]


def answer(key: str = "topics", **partition: Any) -> str:
    return REQUESTS["reply"]({"number": 7, "body": {key: [{"partitions": [partition]}]}})


def test_an_answer_is_told_with_its_error_its_leader_and_the_vote() -> None:
    granted = answer(error_code=0, leader_id=-1, leader_epoch=4, vote_granted=True)
    assert granted == "the kit's answer to number 7: no error, vote granted, leader -1 at epoch 4"
    refused = answer(error_code=0, leader_id=2, leader_epoch=4, vote_granted=False)
    assert refused.endswith("vote refused, leader 2 at epoch 4")
    fetch = answer("responses", error_code=6, current_leader={"leader_id": 2, "leader_epoch": 4}, records="")
    assert fetch.endswith("NOT_LEADER_OR_FOLLOWER (6), leader 2 at epoch 4")
    diverging = answer("responses", error_code=0, diverging_epoch={"epoch": 3, "end_offset": 8}, records="AA==")
    assert diverging.endswith("no error, diverging at epoch 3 end 8, records")


def test_an_error_of_the_whole_answer_counts_first() -> None:
    assert REQUESTS["reply"]({"number": 7, "body": {"error_code": 104, "responses": []}}).endswith("(104)")
