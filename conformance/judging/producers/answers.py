"""Each answer to a producer is one that the state allows (KIP360-INV-16): which producer is fenced, which transactions are open,
which sequences are out of order.

Earlier requests and answers predict the answers to InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, Produce, TxnOffsetCommit
and EndTxn. An instance counts for a case if the state was certain, so that all right answers belong to that case. If several
states are possible, the answers of each are right. Errors that pass by themselves in time are not predicted.
"""

from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.excuses import (
    NOT_LED,
    REFUSED_BY_GROUP,
    STALE_COORDINATOR,
    STATE_UNKNOWN,
    TRANSIENT_ERROR,
    Evidence,
)
from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import ProduceResult
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.appends import APPENDING, append_of, is_leading, why_forgotten
from conformance.judging.producers.coordination import Coordination, Prediction, Turn, order_turns
from conformance.judging.producers.coordinator import PASSED, PASSED_LATE, Api, RightAnswer, State
from conformance.judging.producers.records import ALL
from conformance.judging.producers.requests import AnsweredRequest, requests, write_request
from conformance.judging.producers.story import TransactionStory
from conformance.judging.producers.transactions import IDEMPOTENT, Producers
from conformance.judging.producers.transient_errors import TRANSIENT_ERRORS, UNTOUCHED, lasts_too_long
from conformance.judging.timeline import NEVER
from conformance.judging.together import Together
from protocol.codes import Error

GROUP_ERRORS = frozenset(
    (
        Error.FENCED_INSTANCE_ID,
        Error.GROUP_ID_NOT_FOUND,
        Error.ILLEGAL_GENERATION,
        Error.STALE_MEMBER_EPOCH,
        Error.UNKNOWN_MEMBER_ID,
    )
)
"""The errors of a group coordinator for a TxnOffsetCommit with a member, an instance or a generation that the group does not have
(KIP-447); version 6 has STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION (KIP-1319). KIP-1251's judges
decide if the group has them; the coordinator of the transaction let the request pass."""
CASE_OF: dict[Api, str] = {
    "InitProducerId": "init",
    "AddPartitionsToTxn": "add-partitions",
    "AddOffsetsToTxn": "add-offsets",
    "EndTxn": "end",
    "Produce": "produce",
    "TxnOffsetCommit": "offset-commit",
}
KIND_OF: dict[int, str] = {
    Error.NONE: "granted",
    Error.INVALID_PRODUCER_ID_MAPPING: "fenced",
    Error.INVALID_PRODUCER_EPOCH: "fenced",
    Error.PRODUCER_FENCED: "fenced",
    Error.INVALID_TXN_STATE: "not-open",
    Error.TRANSACTION_ABORTABLE: "not-open",
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: "out-of-order",
}
KINDS = ("granted", "repeated", "out-of-order", "not-open", "fenced", "fenced-seen")
"""The kinds of answers, by precedence: if the state is not certain, a wrong answer counts for the first kind that would be
right."""
LATE = frozenset(
    (
        Error.NONE,
        Error.INVALID_PRODUCER_EPOCH,
        Error.INVALID_TXN_STATE,
        Error.TRANSACTION_ABORTABLE,
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    )
)
"""The errors that a leader may answer while the transaction's marker is on its way (KIP360-FENCE-06)."""


class PredictedAnswer(NamedTuple):
    """One right answer, with its kind and the reason. On success it may have a producer id, epoch and offset, otherwise -1."""

    kind: str
    error: int
    why: str
    outcome: RightAnswer
    offset: int = -1
    opened: int = NEVER
    """The event of the first request of the open transaction; NEVER if none is open."""

    def is_given(self, one: AnsweredRequest) -> bool:
        """True if the request got this answer. If a new producer id is due, any id is right."""
        same = self.error == one.error and self.outcome.epoch in (-1, one.given_epoch)
        whose = self.outcome.producer_id < 0 or self.outcome.producer_id == one.given_id
        return same and whose and (one.write is None or self.offset in (-1, one.write.offset))

    def __str__(self) -> str:
        name = Error(self.error).name
        shown = f"{name} with epoch {self.outcome.epoch}" if self.outcome.epoch >= 0 else name
        return f"{shown} at offset {self.offset}" if self.offset >= 0 else shown


@joint_judge("KIP360-INV-16", *ALL)
def answers_fit_the_possible_states(together: Together) -> Iterator[Claim]:
    """The answer to each request of a producer is right in one of the possible states of its coordinator and leader."""
    producers = together.derive(Producers)
    for story in together.stories_of(TransactionStory):
        yield from _judge_transactional_id(story, producers)
    for partition in producers.partitions:
        for write in partition.produced:
            known = write.error != UNKNOWN_OUTCOME and write.acks == -1 and write.transactional_id is None
            if known and producers.case(write.producer_id) == IDEMPOTENT:
                yield from _judge_idempotent(partition, write)


# --- idempotent producers


def _judge_idempotent(partition: PartitionStory, write: ProduceResult) -> Iterator[Claim]:
    one, led = write_request(partition, write), is_leading(partition, write)
    if (passed := _why_uninformative(one, led)) is not None:
        yield _judge_uninformative(one, passed, led, None)
    else:
        yield from _judge(one, _by_leader(one, RightAnswer(PASSED)), None)


# --- transactional ids


class _JudgedTurn(NamedTuple):
    """One turn, the coordinator's possible states after it, and the claims about it.

    Later turns do not change them, but may show that a wrong answer is excused.
    """

    turn: Turn
    after: Coordination
    claims: tuple[Claim, ...]

    def still_holds(self, turn: Turn) -> bool:
        wrong = any(isinstance(claim, Finding) and not claim.held for claim in self.claims)
        return self.turn == turn and not wrong


def _judge_transactional_id(story: TransactionStory, producers: Producers) -> Iterator[Claim]:
    """Judge the turns of one transactional id, from the first that differs from the last time."""
    turns, kept = order_turns(requests(story, producers.partitions), story), story.judged_turns
    pairs = enumerate(zip(kept, turns, strict=False))
    same = next((n for n, (known, turn) in pairs if not known.still_holds(turn)), min(len(kept), len(turns)))
    del kept[same:]
    for turn in turns[len(kept) :]:
        coordination = kept[-1].after.copy() if kept else Coordination(story)
        prediction = coordination.predict(turn)
        claims = () if prediction is None else tuple(_judge_turn(coordination, prediction, turn))
        kept.append(_JudgedTurn(turn, coordination, claims))
    yield from (claim for known in kept for claim in known.claims)


def _judge_turn(coordination: Coordination, prediction: Prediction, turn: Turn) -> Iterator[Claim]:
    """Judge one answer, and keep the states that it leaves possible. A broker that is not the leader may know less."""
    one = prediction.asked
    if (passed := _why_uninformative(one, turn.led)) is not None:
        (coordination.drops if one.error in UNTOUCHED else coordination.passes)(one)
        yield _judge_uninformative(one, passed, turn.led, coordination.story)
        return
    if prediction.why is None:
        coordination.contradicts(one)
        yield Excuse(STATE_UNKNOWN, _granted_case(one))
        return
    rights = [right for outcome, state in prediction.why.items() for right in _rights(one, outcome, state)]
    given = {right.outcome for right in rights if right.is_given(one)}
    stale = None if given or not _may_be_stale(coordination, one) else STALE_COORDINATOR
    yield from _judge(one, rights, stale)
    # The leader's answer to a batch says nothing about the coordinator that let it pass.
    given |= {outcome for outcome in prediction.why if outcome.error == PASSED and one.error in APPENDING}
    if given:
        refused = one.request.api == "Produce" and one.error != NONE
        busy = one.error == Error.CONCURRENT_TRANSACTIONS and prediction.busy
        coordination.explains(one, given, untouched=refused or busy)
    elif stale:
        coordination.passes(one)
    else:
        coordination.contradicts(one)


def _may_be_stale(coordination: Coordination, one: AnsweredRequest) -> bool:
    """True if a fault was active at a broker other than the last coordinator, which may be unaware of the change."""
    node, served = one.request.node, coordination.served_by
    spans = coordination.story.timeline.active_faults(coordination.served_at, one.event)
    hit = any(
        node in span.nodes and span.effects.may_delay_messages and not span.effects.begins_incarnation for span in spans
    )
    return hit and one.write is None and served not in ("", node)


def _rights(one: AnsweredRequest, outcome: RightAnswer, state: State) -> Iterator[PredictedAnswer]:
    """Yield the right answers of one outcome at the coordinator; if that lets a write pass, those of the leader."""
    why = (
        f"epoch {state.epoch} of producer {state.producer_id} is current since event {state.since}"
        if state.status
        else ""
    )
    why = f"{why}, its transaction is {state.status}" if why else "the transactional id is new"
    if outcome.error == PASSED_LATE:
        yield from (PredictedAnswer(KIND_OF[error], error, why, outcome) for error in sorted(LATE))
    elif one.write is None:
        error = NONE if outcome.error == PASSED else outcome.error
        yield PredictedAnswer(outcome.kind or KIND_OF.get(error, "concurrent"), error, why, outcome)
    elif outcome.error == PASSED:
        opened = state.opened if state.status == "Ongoing" else NEVER
        yield from (right._replace(opened=opened) for right in _by_leader(one, outcome))
    else:
        yield from _right_refusals(
            one, PredictedAnswer(KIND_OF.get(outcome.error, "concurrent"), outcome.error, why, outcome)
        )


def _right_refusals(one: AnsweredRequest, right: PredictedAnswer) -> Iterator[PredictedAnswer]:
    """Yield the right answers to a batch that the coordinator does not let pass: the leader may have recognised it before, or
    know the newer epoch too."""
    by_leader = _by_leader(one, right.outcome)
    kinds = {each.kind for each in by_leader}
    yield right._replace(kind="fenced-seen") if right.kind == "fenced" and kinds == {"fenced-seen"} else right
    yield from (each for each in by_leader if each.kind == "repeated")


def _by_leader(one: AnsweredRequest, outcome: RightAnswer) -> list[PredictedAnswer]:
    if one.partition is None or one.write is None:
        return []
    append = append_of(one.partition, one.write)
    kinds = {NONE: "repeated"} if append.kind == "repeated" else {}
    offset = append.by.offset if append.kind == "repeated" and append.by is not None else -1
    kinds |= {Error.INVALID_PRODUCER_EPOCH: "fenced-seen"}
    return [
        PredictedAnswer(kinds.get(error, KIND_OF[error]), error, str(append), outcome, offset if error == NONE else -1)
        for error in sorted(append.errors)
    ]


# --- claims


def _granted_case(one: AnsweredRequest) -> str:
    """Return the case of a granted request. An answer that no state predicts has no other case."""
    return f"{CASE_OF[one.request.api]}-granted"


def _why_uninformative(one: AnsweredRequest, led: bool) -> Evidence | None:
    """Return the evidence by which the answer says nothing about the transaction's state; None if it does."""
    if one.error in UNTOUCHED or one.error in TRANSIENT_ERRORS[one.request.api]:
        return TRANSIENT_ERROR
    if one.request.names_member and one.error in GROUP_ERRORS:
        return REFUSED_BY_GROUP
    return None if led else NOT_LED


def _judge_uninformative(one: AnsweredRequest, passed: Evidence, led: bool, story: TransactionStory | None) -> Claim:
    """Return the excuse, or the finding that a transient error lasts too long."""
    if led and passed == TRANSIENT_ERROR and lasts_too_long(one, story):
        shown = (
            f"{one.request.node} answered {one.request.api} with {Error(one.error).name}, and with such errors for 30 s"
        )
        return Finding(False, _granted_case(one), (one.request.asked, one.event), shown, "never-granted")
    return Excuse(passed, _granted_case(one))


def _judge(one: AnsweredRequest, rights: list[PredictedAnswer], excuse: Evidence | None) -> Iterator[Claim]:
    """Judge an answer. A right one counts as held only if all right answers are of one kind, apart from those of a busy
    coordinator (CONCURRENT_TRANSACTIONS)."""
    given = [right for right in rights if right.is_given(one)]
    kinds = {right.kind for right in rights if not right.outcome.excuse} - {"concurrent"}
    case = f"{CASE_OF[one.request.api]}-{min(kinds, key=KINDS.index, default='granted')}"
    if excuse := excuse or _excuse_of_rights(given):
        yield Excuse(excuse, case)
    elif given and len(kinds) == 1 and given[0].kind in kinds:
        yield Finding(True, case, (one.event,))
    elif not given and (forgot := _why_state_forgotten(one, rights)):
        yield Excuse(forgot, case)
    elif not given:
        yield Finding(False, case, (one.request.asked, one.event), _mismatch_in_words(one, rights), "wrong-answer")


def _excuse_of_rights(given: list[PredictedAnswer]) -> Evidence | None:
    """Return the evidence that excuses the answer, if every right answer equal to it needs evidence; else None."""
    excuses = [right.outcome.excuse for right in given]
    return excuses[0] if excuses and all(excuses) else None


def _why_state_forgotten(one: AnsweredRequest, rights: list[PredictedAnswer]) -> Evidence | None:
    """Return the evidence by which the leader may have forgotten the state that decides its answer."""
    began = [right.opened for right in rights if right.outcome.error == PASSED]
    by_leader = one.error in APPENDING and began
    return why_forgotten(one.partition, one.write, max(began)) if by_leader and one.partition and one.write else None


def _mismatch_in_words(one: AnsweredRequest, rights: list[PredictedAnswer]) -> str:
    request, about = one.request, f" to {one.partition.name}" if one.partition is not None else ""
    about += " that names no member" if request.api == "TxnOffsetCommit" and not request.names_member else ""
    expected = " or ".join(sorted({str(right) for right in rights}))
    reasons = "; or ".join(dict.fromkeys(right.why for right in rights))
    return (
        f"{request.node} answered {request.api}{about} at epoch {request.epoch} of producer {request.producer_id} with "
        f"{Error(one.error).name}; expected {expected}, since {reasons}"
    )
