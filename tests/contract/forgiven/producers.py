"""Requests and records of producers."""

from __future__ import annotations

from conformance.judging.excuses import (
    BUMPED_BY_FENCED,
    NOT_LED,
    REFUSED_BY_GROUP,
    STATE_UNKNOWN,
    TOO_FEW_REPLICAS,
    TRANSIENT_ERROR,
)
from conformance.judging.timeline import MIN_ISR
from history.events import History
from protocol.codes import Error
from tests.contract.forgiven.entry import Forgiven
from tests.support.producers import ID, TID, ProducerHistory, written

ONE_ANSWER = "each answer is judged by itself"
OTHER, OTHER_TID = 8, "other"


def _fenced() -> ProducerHistory:
    return ProducerHistory().given(epoch=0).given(epoch=1)


def _too_few(replicas: tuple[int, ...] = (1,), *, lowered: str = "") -> History:
    """A transaction has ended, and its marker is missing at rest on a partition with such replicas."""
    history = ProducerHistory(min_insync_replicas="2").given().adds().writes("a", at=0, tid=TID).ends(True)
    if lowered == "before":
        history.altered(MIN_ISR, "1")
    history.settled(1, 1, isr=(1,), replicas=replicas)
    if lowered == "in between":
        history.altered(MIN_ISR, "1")
    elif lowered == "refused":
        history.altered(MIN_ISR, "1", error=Error.POLICY_VIOLATION)
    return history.rests().reads(written(0, "a", in_transaction=True), lso=0).history


def _answered(error: Error, sequence: int = 1) -> History:
    return (
        ProducerHistory()
        .given()
        .adds()
        .writes("a", at=0, tid=TID)
        .writes("b", sequence=sequence, tid=TID, error=error)
        .history
    )


def _committed(error: Error, member: tuple[str, int]) -> History:
    return ProducerHistory().given().adds_offsets().commits(1, member=member, error=error).history


def _of_a_leader(named: int, hit: int = 0) -> History:
    history = ProducerHistory().given().adds().writes("a", at=0, tid=TID)
    if hit:
        history.hit("rate-limit", hit)
    return (
        history.writes("b", sequence=2, at=-1, tid=TID, error=Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
        .settled(named, named - 1)
        .history
    )


ENTRIES = (
    Forgiven(
        BUMPED_BY_FENCED,
        row="KIP360-INV-05",
        covered=lambda: _fenced().given(epoch=2, sent=(ID, 0)).ends(True, epoch=1).history,
        near={
            "another subject": lambda: _fenced().given(epoch=2, sent=(ID, 1)).ends(True, epoch=1).history,
            "before it began": lambda: _fenced().ends(True, epoch=0).given(epoch=2, sent=(ID, 0)).history,
        },
        applies={"after it ended": "what a fenced instance was granted stays so"},
    ),
    Forgiven(
        TOO_FEW_REPLICAS,
        row="KIP360-INV-06",
        covered=_too_few,
        near={
            "too little": lambda: _too_few((1, 2)),
            "after it ended": lambda: _too_few(lowered="in between"),
            "before it began": lambda: _too_few(lowered="before"),
        },
        applies={"another subject": "the partition that lacks the marker is the one that is asked"},
    ),
    Forgiven(
        TRANSIENT_ERROR,
        row="KIP360-INV-16",
        covered=lambda: _answered(Error.NOT_ENOUGH_REPLICAS),
        near={"described otherwise": lambda: _answered(Error.INVALID_TXN_STATE)},
        applies={"before it began": ONE_ANSWER, "after it ended": ONE_ANSWER, "another subject": ONE_ANSWER},
    ),
    Forgiven(
        REFUSED_BY_GROUP,
        row="KIP360-INV-16",
        covered=lambda: _committed(Error.ILLEGAL_GENERATION, ("member", 3)),
        near={"another subject": lambda: _committed(Error.ILLEGAL_GENERATION, ("", -1))},
        applies={"before it began": ONE_ANSWER, "after it ended": ONE_ANSWER},
    ),
    Forgiven(
        NOT_LED,
        row="KIP360-INV-16",
        covered=lambda: _of_a_leader(2),
        near={"another node": lambda: _of_a_leader(1), "before it began": lambda: _of_a_leader(1, hit=3)},
        applies={"after it ended": ONE_ANSWER},
    ),
    Forgiven(
        STATE_UNKNOWN,
        row="KIP360-INV-16",
        covered=lambda: ProducerHistory().given().ends(True, error=Error.NONE, epoch=5).adds(epoch=5).history,
        near={
            "before it began": lambda: ProducerHistory().given().adds(epoch=5).history,
            "after it ended": lambda: (
                ProducerHistory().given().ends(True, epoch=5).describes("Empty").adds(epoch=9).history
            ),
        },
        applies={"another subject": "another transactional id has states of its own"},
    ),
)
