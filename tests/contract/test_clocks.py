"""A slow host turns nothing red: all judges over histories of released brokers, and over near ones, whose clock is stretched.

A host that sleeps records nothing for a while, wherever that falls. All times of a history are multiplied as well, as on a host
that does everything more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest

from conformance.judging.judge import judge_all
from conformance.judging.judges import JUDGES
from history.events import AnyEvent, History
from protocol.codes import Error
from tests.support.histories import BROKERS, LogHistory, held_on_disk, stamped
from tests.support.history_pairs import ONE, PAIRS, TWO
from tests.support.producers import TID, ProducerHistory
from tests.support.stored_run import observed_by, stored_examples

pytestmark = pytest.mark.drawn

SLEEPS = 60.0
FACTORS = (3.0, 10.0)
PLACES = 4
"""The places of a stored example at which the host sleeps, one example for each."""
A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")


def retimed(history: History, at: Callable[[AnyEvent], float]) -> History:
    events = [msgspec.structs.replace(event, t=at(event)) for event in history.events]
    return History(example=history.example, events=events, end=history.end)


def slept(history: History, before: int) -> History:
    """The host slept before this event."""
    return retimed(history, lambda event: event.t + (SLEEPS if event.n >= before else 0.0))


def slowed(history: History, factor: float) -> History:
    return retimed(history, lambda event: event.t * factor)


def places(history: History, most: int) -> Iterator[int]:
    """Yield events spread over the history, all if there are no more than `most`."""
    events = len(history.events)
    yield from sorted({n * events // most for n in range(most)} if events > most else range(events))


def stretched(history: History, most: int) -> Iterator[History]:
    yield from (slept(history, place) for place in places(history, most))
    yield from (slowed(history, factor) for factor in FACTORS)


def red(history: History) -> set[tuple[str, str]]:
    return {(one.requirement, one.case) for one in judge_all(JUDGES, history) if one.result == "violated"}


# --- histories that come close to a bound


def leaderless() -> LogHistory:
    """The only member of the ISR is alive, and leads at the fourth look."""
    history = LogHistory().settled(1, 0)
    for _ in range(3):
        history.metadata(2, -1, 1, isr=(1,), unfenced=(1, 2)).later(0.2)
    return history.metadata(2, 1, 2, isr=(1,))


def not_yet_converged() -> LogHistory:
    """All is healed, and after a while, which is too short, a replica is not back in the ISR."""
    history = LogHistory().all_healed()
    for _ in range(10):
        history.settled(2, 1, isr=(1, 2)).later(0.2)
    history.settled(2, 1, isr=(1, 2)).at_rest(met=False).metadata(1, 2, 1, isr=(1, 2))
    return history.whole(1, A, epoch=1, hw=1).whole(2, A, epoch=1, hw=1)


def fenced_member() -> LogHistory:
    """One broker sees a member of the ISR fenced, four times in quick succession."""
    history = LogHistory().settled(1, 0)
    for _ in range(4):
        history.metadata(1, 1, 0, unfenced=(1, 2))
    return history


def not_yet_marked() -> ProducerHistory:
    """At rest a coordinator describes a transaction as prepared, and at the third look as complete."""
    history = ProducerHistory().given().adds().writes("a", at=0, tid=TID).ends(True).rests()
    return history.describes("PrepareCommit").later(0.2).describes("PrepareCommit")


def not_yet_admitted() -> ProducerHistory:
    """After a fault is healed a new instance is refused twice."""
    history, busy = ProducerHistory().hit("kill", 3).heal("kill", 3), Error.CONCURRENT_TRANSACTIONS
    return history.refuses_id(busy).later(0.2).refuses_id(busy)


def written_late() -> LogHistory:
    """leader-epoch-checkpoint of a trimmed replica still has the entry from before."""
    history = LogHistory().settled(1, 0).produce(1, "a", "b", "c", at=0).trim(1, 2).all_healed().settled(1, 0).at_rest()
    for broker in BROKERS:
        history.whole(broker, C, epoch=0, hw=3, start=2)
    return history.later(0.2).on_disk(held_on_disk(1, C, epochs=((0, 0),), start=2))


def adopted_late() -> LogHistory:
    """A follower that was away has not heard of the log start."""
    history = LogHistory().settled(1, 0).hit("kill", 3).settled(1, 0, isr=(1, 2), unfenced=(1, 2)).trim(1, 2)
    history.whole(1, C, epoch=0, hw=3, start=2).heal("kill", 3).all_healed().settled(1, 0).later(2).settled(1, 0)
    history.at_rest(met=False)
    for broker, log in enumerate(((C,), (C,), (A, B, C)), 1):
        history.whole(broker, *log, epoch=0, hw=3, start=log[0].base_offset)
    return history


def recreated() -> LogHistory:
    """A broker knows the id of a topic that was created again, and answers a fetch by name from the former one."""
    history = (
        LogHistory().created_as(ONE).settled(1, 5).produce(1, "a", at=0).whole(1, stamped(5, 0, "a"), epoch=5, hw=1)
    )
    history.deleted().created_as(TWO).settled(1, 0).later(0.2)
    return history.whole(1, stamped(5, 0, "a"), epoch=5, hw=1)


CLOSE: dict[str, Callable[[], LogHistory | ProducerHistory]] = {
    "leaderless": leaderless,
    "not yet converged": not_yet_converged,
    "fenced member": fenced_member,
    "not yet marked": not_yet_marked,
    "not yet admitted": not_yet_admitted,
    "written late": written_late,
    "adopted late": adopted_late,
    "recreated": recreated,
    **{name: (lambda pair=pair: pair()[1]) for name, pair in PAIRS.items()},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", CLOSE)
def test_a_host_that_sleeps_turns_nothing_red(name: str) -> None:
    history = CLOSE[name]().history
    before = red(history)
    assert [red(slept(history, place)) - before for place in places(history, 60)] == [set()] * len(
        [*places(history, 60)]
    )


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", CLOSE)
def test_a_host_that_does_everything_more_slowly_turns_nothing_red(name: str, factor: float) -> None:
    history = CLOSE[name]().history
    assert red(slowed(history, factor)) <= red(history)


def test_released_brokers_on_a_slow_host_turn_nothing_red() -> None:
    for history in stored_examples():
        before = {(one.requirement, one.case) for one in observed_by(history) if one.result == "violated"}
        for changed in stretched(history, PLACES):
            after = {(one.requirement, one.case) for one in observed_by(changed) if one.result == "violated"}
            assert after <= before, history.example
