"""All possible states of the coordinator of a transactional id, from its requests and answers. Unknown outcomes leave several.

Each request takes effect at one point between its call and its answer; a request without an answer does so at any point after its
call, or never. A configuration is a state, together with the requests in flight that took effect in it and their outcomes. An
answer leaves only the configurations that explain it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.transactions import TransactionDescription
from conformance.judging.producers.appends import is_leading
from conformance.judging.producers.coordinator import (
    CONCURRENT,
    LAST_EPOCH,
    NEW_ID,
    NO_EPOCH,
    NO_ID,
    PREPARED,
    UNSEEN_CHANGE,
    RightAnswer,
    State,
    Status,
    right_answers,
    unrequested_states,
)
from conformance.judging.producers.requests import AnsweredRequest, AnswerKind
from conformance.judging.producers.story import TransactionStory

MAX_CONFIGURATIONS = 300
"""The maximum number of configurations that are followed. With more, nothing is predicted until a producer id is given or a state
described."""
SAFE_TIMEOUT_SHARE = 0.9
"""The share of a transaction's timeout during which it certainly has not expired, whatever the coordinator's clock."""
ANSWERS_TO_SETTLE = 2
"""The number of later answers after which an unanswered request no longer takes effect. The first of them, with a new epoch,
replaces anything that the request left in a coordinator's log; a request sent after that answer cannot be overtaken."""

Effects = frozenset[tuple[int, RightAnswer]]
"""The (key, outcome) of each request in flight that took effect."""


class Configuration(NamedTuple):
    """A state, and the requests in flight that took effect in it."""

    state: State
    done: Effects = frozenset()


class Prediction(NamedTuple):
    """The right answers to one request. `why` has a state for each right answer, and is None if the state is unknown."""

    asked: AnsweredRequest
    why: dict[RightAnswer, State] | None
    busy: bool
    """True if the coordinator may have been busy with another request in flight, with markers, or with a timeout."""


class Turn(NamedTuple):
    """The call or the answer of a request, or a description. `led`: a Produce went to the partition's leader."""

    event: int
    answered: bool
    one: AnsweredRequest | TransactionDescription
    led: bool = True


def order_turns(requests: Sequence[AnsweredRequest], story: TransactionStory) -> list[Turn]:
    """Return the calls and answers of the requests, and the descriptions, in the order of the events."""
    turns = [Turn(one.request.asked, False, one) for one in requests]
    turns += [Turn(one.event, True, one, led=_is_led(one)) for one in requests]
    turns += [Turn(one.event, True, one) for one in story.described]
    return sorted(turns, key=lambda turn: turn[:2])


def _is_led(one: AnsweredRequest) -> bool:
    return one.partition is None or one.write is None or is_leading(one.partition, one.write)


class Coordination:
    """The requests about one transactional id, turn by turn."""

    def __init__(self, story: TransactionStory) -> None:
        self.story = story
        self.known: frozenset[Configuration] | None = frozenset([Configuration(State())])
        self._open: dict[int, AnsweredRequest] = {}
        self._confirmations: dict[int, tuple[int, int]] = {}
        """By the key of a request without an answer: how many answers confirm it, and the event of the last."""
        self.served_by = ""
        """The broker that granted the last request, and the event of its call."""
        self.served_at = -1

    def copy(self) -> Coordination:
        """Return a copy that later turns do not change."""
        same = Coordination.__new__(Coordination)
        vars(same).update(vars(self))  # takes a third of the time of copy.copy, at each turn
        same._open, same._confirmations = {**self._open}, {**self._confirmations}
        return same

    def predict(self, turn: Turn) -> Prediction | None:
        """Process a turn. Returns the right answers if the turn is an answer, else None."""
        one = turn.one
        if isinstance(one, TransactionDescription):
            self._take_description(one)
        elif not turn.answered:
            self._open[one.key] = one
        elif one.reply is AnswerKind.NEVER_SENT:
            self._forget(one.key)
        elif one.reply is AnswerKind.UNKNOWN:
            self._lose(one)
        elif one.reply is AnswerKind.PARTLY:
            self._open.pop(one.key, None)
            self.known = None
        else:
            return self._predict(one)
        return None

    # --- answers

    def _predict(self, one: AnsweredRequest) -> Prediction:
        if self.known is not None:
            self.known = self._reachable(one.event)
        before = [each for each in self.known or () if one.key not in dict(each.done)]
        busy = any(each.request.asked != one.request.asked for each in self._open.values())
        busy = busy or any(self._may_be_busy(each.state, one.event) for each in before)
        return Prediction(one, self._why(one, before, busy) if self.known is not None else None, busy)

    def _may_be_busy(self, state: State, event: int) -> bool:
        """True if the coordinator may be writing markers, or aborting after a timeout: both change the epoch."""
        return state.status in PREPARED or (state.status == "Ongoing" and self._may_time_out(state, event))

    def _why(self, one: AnsweredRequest, before: list[Configuration], busy: bool) -> dict[RightAnswer, State]:
        why: dict[RightAnswer, State] = {}
        for at in sorted(before, key=lambda each: each.state.sort_key, reverse=True):
            why |= {outcome: at.state for outcome, _ in self._outcomes(at, one) if outcome != UNSEEN_CHANGE}
            if busy:
                why[CONCURRENT] = at.state
        return why

    def passes(self, one: AnsweredRequest) -> None:
        """Process a transient error: the request may or may not have taken effect."""
        self._lose(one)

    def drops(self, one: AnsweredRequest) -> None:
        """Process an error which says that nothing changed."""
        if self.known is not None:
            self._keep(frozenset(each for each in self.known if one.key not in dict(each.done)))
        self._open.pop(one.key, None)

    def explains(self, one: AnsweredRequest, outcomes: set[RightAnswer], *, untouched: bool) -> None:
        """Keep only the configurations that explain the answer: the request took effect with one of these outcomes, or was
        refused and changed nothing (`untouched`)."""
        if self.known is not None:
            kept = [each for each in self.known if _matches(each, one.key, outcomes, untouched)]
            self._keep(frozenset(_bind_id(_forget_done(each, one.key), one) for each in kept))
        self._open.pop(one.key, None)
        self._confirm(one)

    def contradicts(self, one: AnsweredRequest) -> None:
        """Process an answer that no state explains: only the state that it shows itself is known. A write of the first protocol
        changes nothing."""
        if one.request.api in ("Produce", "TxnOffsetCommit") and not one.request.is_tv2:
            self.drops(one)
            return
        self.known = None
        self._open.pop(one.key, None)
        self._confirm(one)
        if one.request.api == "InitProducerId" and one.error == NONE:
            at = State("Empty", one.given_id, one.given_epoch, since=one.event)
            if one.request.producer_id not in (NO_ID, one.given_id):
                at = at._replace(former_id=one.request.producer_id, retried=one.request.epoch)
            self._begin_at(at._replace(node=one.request.node, timeout_ms=one.request.timeout_ms))

    def _begin_at(self, state: State) -> None:
        """Forget all states but this one. The owner of the previous epoch may ask for this epoch again; an open transaction may
        have raised it already."""
        states = [state, state._replace(retried=state.epoch - 1)]
        states += [one._replace(raised=True) for one in states if one.status == "Ongoing"]
        self.known = frozenset(map(Configuration, states))

    def _keep(self, kept: frozenset[Configuration]) -> None:
        self.known = kept or None

    # --- requests without an answer

    def _forget(self, key: int) -> None:
        self._open.pop(key, None)
        if self.known is not None:
            self.known = frozenset(each for each in self.known if key not in dict(each.done))

    def _lose(self, one: AnsweredRequest) -> None:
        """Add a request without an answer to those in flight. A retry that fails at the same broker leaves the same records in
        its log as the first try."""
        lost = [each for each in self._open.values() if each.key in self._confirmations]
        same = [each.key for each in lost if _is_same(each, one) and one.reply is AnswerKind.ANSWERED]
        if self.known is not None and (same or not _begins(one)):
            self.known = frozenset(_forget_done(each, one.key) for each in self.known)
        if same:
            self._open.pop(one.key, None)
            self._confirmations[same[0]] = (0, one.event)
        else:
            self._open[one.key] = one
            self._confirmations[one.key] = (0, one.event)

    def _confirm(self, one: AnsweredRequest) -> None:
        """Use the answer to a later request to settle earlier unanswered ones."""
        for key, (times, event) in [*self._confirmations.items()]:
            given = one.request.api == "InitProducerId" and one.error == NONE
            if one.request.asked > event and (times > 0 or given):
                self._confirmations[key] = (times + 1, one.event)
                if times + 1 == ANSWERS_TO_SETTLE:
                    self._settle(key)
        if one.error == NONE and one.request.api not in ("Produce", "TxnOffsetCommit"):
            self.served_by, self.served_at = one.request.node, one.request.asked

    def _settle(self, key: int) -> None:
        del self._confirmations[key]
        self._open.pop(key, None)
        if self.known is not None:
            self.known = frozenset(_forget_done(each, key) for each in self.known)

    # --- states

    def _reachable(self, event: int) -> frozenset[Configuration] | None:
        """Return all configurations that are possible before an answer; None if there are too many."""
        todo = sorted(self.known or (), key=lambda each: each.state.since, reverse=True)
        found = {_key_without_age(each): each for each in todo}
        while todo:
            for after in self._next_configurations(todo.pop(), event):
                if (same := _key_without_age(after)) not in found:
                    found[same] = after
                    todo.append(after)
            if len(found) > MAX_CONFIGURATIONS:
                return None
        return frozenset(found.values())

    def _next_configurations(self, at: Configuration, event: int) -> Iterator[Configuration]:
        timed_out, expired = self._may_time_out(at.state, event), self._may_expire(at.state, event)
        for state in unrequested_states(at.state, timed_out=timed_out, expired=expired):
            yield at._replace(state=state)
        done = dict(at.done)
        new = next((key for key, one in self._open.items() if key not in done and _begins(one)), None)
        for key, one in self._open.items():
            # Lost requests of new instances are interchangeable: it does not matter which of them took effect.
            alike = key in self._confirmations and _begins(one) and key != new
            if key not in done and one.request.asked < event and not alike:
                yield from self._took_effect(at, one)

    def _took_effect(self, at: Configuration, one: AnsweredRequest) -> Iterator[Configuration]:
        """Yield the configurations after a request took effect. An unanswered request counts only if it changed the state."""
        lost = one.key in self._confirmations
        for outcome, state in self._outcomes(at, one):
            if not lost:
                yield Configuration(state, at.done | {(one.key, outcome)})
            elif state != at.state:
                # Except for the InitProducerId of a new instance, a request that took effect twice leaves the same state as after
                # the first time.
                yield Configuration(state, at.done | ({(one.key, UNSEEN_CHANGE)} if _begins(one) else frozenset()))

    def _outcomes(self, at: Configuration, one: AnsweredRequest) -> Iterator[tuple[RightAnswer, State]]:
        """Yield the outcomes of a request. The first request that may have opened the transaction starts its timeout."""
        moved = one.request.node != at.state.node or self.story.timeline.fault_between(at.state.since, one.event)
        first = min(each.request.asked for each in self._open.values())
        request = one.request
        if (first, moved) != (request.asked, request.failed_over):
            request = request._replace(asked=first, failed_over=moved)
        return right_answers(at.state, request)

    def _may_time_out(self, state: State, event: int) -> bool:
        time = self.story.timeline.time
        opened = time(state.opened) if state.opened >= 0 else float("-inf")
        return time(event) - opened >= SAFE_TIMEOUT_SHARE * state.timeout_ms / 1000

    def _may_expire(self, state: State, event: int) -> bool:
        """True if the transactional id may have been idle until its expiry."""
        timeline = self.story.timeline
        return (
            timeline.time(event) - timeline.time(max(state.since, 0)) >= SAFE_TIMEOUT_SHARE * timeline.ids_expire_after
        )

    # --- DescribeTransactions

    def _take_description(self, one: TransactionDescription) -> None:
        if one.error != NONE or one.producer_epoch < 0:
            return  # an id that was never given is not in the coordinator's log yet
        closed = self._reachable(one.event) if self.known is not None else None
        kept = frozenset(each for each in closed or () if _is_described(each.state, one))
        if kept:
            self._keep(frozenset(_bind_new_id(each, one.producer_id) for each in kept))
        else:
            self._begin_at(self._state_of(one))

    def _state_of(self, one: TransactionDescription) -> State:
        """Return the state in a description, with the story's groups if it names a partition of __consumer_offsets."""
        groups = {f"group {name}" for name in self.story.groups}
        names = {*one.partitions, *(groups if any("__consumer_offsets" in name for name in one.partitions) else ())}
        status = cast(Status, one.state)
        ids = (one.producer_id, one.producer_epoch)
        at = State(status, *ids, added=frozenset(names), since=one.event)
        return at._replace(node=one.node, timeout_ms=one.timeout_ms)


_SINCE = State._fields.index("since")


def _key_without_age(at: Configuration) -> tuple[object, ...]:
    """Return a key that is equal for states that differ only in their age; the oldest represents them."""
    return (*at.state[:_SINCE], *at.state[_SINCE + 1 :], at.done)


def _matches(at: Configuration, key: int, outcomes: set[RightAnswer], untouched: bool) -> bool:
    outcome = dict(at.done).get(key)
    return untouched if outcome is None else outcome in outcomes or (untouched and outcome == UNSEEN_CHANGE)


def _is_same(one: AnsweredRequest, other: AnsweredRequest) -> bool:
    return one.request._replace(asked=0, event=0) == other.request._replace(asked=0, event=0)


def _begins(one: AnsweredRequest) -> bool:
    """True for the InitProducerId of a new instance, which gives another epoch each time."""
    return one.request.api == "InitProducerId" and one.request.epoch == NO_EPOCH


def _forget_done(at: Configuration, key: int) -> Configuration:
    return at._replace(done=frozenset(each for each in at.done if each[0] != key))


def _bind_id(at: Configuration, one: AnsweredRequest) -> Configuration:
    """Return the configuration with the producer id that an answer shows."""
    return _bind_new_id(at, one.given_id) if one.error == NONE and one.given_id >= 0 else at


def _bind_new_id(at: Configuration, id: int) -> Configuration:
    """Return the configuration with its new producer id filled in, unless the id is the one that it replaced."""
    unbound = at.state.producer_id == NEW_ID and id != at.state.former_id
    return at._replace(state=at.state._replace(producer_id=id)) if unbound else at


def _is_described(state: State, one: TransactionDescription) -> bool:
    """True if the description fits the state.

    Until the markers are written, the coordinator itself keeps the former producer id, at the epoch above LAST_EPOCH.
    """
    at = (one.state, one.producer_id, one.producer_epoch)
    same = state.producer_id in (NEW_ID, one.producer_id) and one.producer_id != state.former_id
    rotating = state.status in PREPARED and at == (state.status, state.former_id, LAST_EPOCH + 1)
    return rotating or (same and (state.status, state.epoch) == (one.state, one.producer_epoch))
