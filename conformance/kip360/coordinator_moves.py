"""Transactional ids and their transactions at another coordinator than before (KIP-360, Public Interfaces; KIP-664)."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

import msgspec
from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.bench import Bench
from conformance.core.checks import Claim, Claims, Rig, held_if, premise, probe
from conformance.core.topologies import LOG_QUORUM
from conformance.rigs.log.partition import Partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.producers.combined_node import is_unchanged
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.producers.sequences import gives_id
from conformance.rigs.producers.three_brokers import THREE_BROKERS, How, ThreeBrokers
from conformance.rigs.restarts import await_answer
from fixtures.views.nodes import ask_until_served
from protocol.codes import Error
from protocol.quorum import QuorumAnswer
from protocol.transactions import InitProducerIdAnswer, ProducerIdsAnswer
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS

HOW = sampled_from(["move", "kill", "freeze"])
NO_EPOCH = (-1, -1)
"""The producer id and epoch in a new instance's request."""
STATES = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")


def bring_to(state: str, producer: CheckProducer, partitions: list[Partition]) -> None:
    """Bring a new producer's transaction to this state; an open one has written to each partition."""
    if state != "Empty":
        for partition in partitions:
            producer.enter(partition)
    if state.startswith("Complete"):
        producer.end(committed=state == "CompleteCommit")


@probe(
    "KIP360-TXN-06",
    rig=THREE_BROKERS,
    cases=["fail-over"],
    smoke=False,
    states=lists(sampled_from(STATES), min_size=6, max_size=8),
    newest=booleans(),
    how=HOW,
)
def next_coordinator_describes_the_same(brokers: ThreeBrokers, states: list[str], newest: bool, how: How) -> Claims:
    """Transactions in each state are described by the next coordinator as they were by the one before."""
    producers = brokers.coordinated_together(len(states), brokers.dialects[-1 if newest else 0])
    partitions = brokers.partitions()
    for state, producer in zip(states, producers, strict=True):
        bring_to(state, producer, partitions)
    before = [producer.describe() for producer in producers]
    with brokers.replace_leader(brokers.state_partition(producers[0]), how):
        pass
    for producer, shown in zip(producers, before, strict=True):
        after = producer.describe()
        yield held_if(is_unchanged(shown, after), shown, after)


@probe(
    "KIP360-TXN-06",
    rig=THREE_BROKERS,
    cases=["wrong-broker"],
    smoke=False,
    states=lists(sampled_from(STATES), min_size=3, max_size=4),
)
def other_brokers_do_not_describe(brokers: ThreeBrokers, states: list[str]) -> Claims:
    """A broker that does not coordinate a transactional id answers NOT_COORDINATOR."""
    partitions = brokers.partitions()
    for state in states:
        producer = brokers.transactional("legacy")
        bring_to(state, producer, partitions)
        for name in brokers.others(brokers.coordinator_of(producer)):
            answer = brokers.bench.node(name).describe_transaction(producer.transactional_id)
            yield held_if(answer.error is Error.NOT_COORDINATOR, answer)


@log_scenario(
    "KIP360-SC-01",
    "KIP360-INIT-09",
    rig=THREE_BROKERS,
    cases=["moved-coordinator"],
    bumps=EPOCH_BUMPS,
    how=HOW,
)
def bump_is_retried_at_the_next_coordinator(brokers: ThreeBrokers, bumps: int, how: How) -> Claims:
    """The answer to a bump was lost; the next coordinator gives the same one, and its epoch can still be bumped."""
    producer, bystander = brokers.transactional("legacy"), brokers.partition()
    producer.bump(bumps)
    state = brokers.state_partition(producer)
    lost = producer.init(producer.producer_id, producer.epoch)
    promised = ("KIP360-INIT-03", "untouched")
    yield premise(gives_id(lost, producer.producer_id, producer.epoch + 1), f"bumped: {lost}", promised=promised)
    with brokers.replace_leader(state, how):
        again = producer.init(producer.producer_id, producer.epoch)
        onwards = producer.init(producer.producer_id, producer.epoch + 1)
    kept = gives_id(again, producer.producer_id, producer.epoch + 1)
    goes_on = gives_id(onwards, producer.producer_id, producer.epoch + 2)
    yield held_if(kept and goes_on, lost, again, onwards, row="KIP360-INIT-09", case="moved-coordinator")
    at_rest(bystander)


# --- ids and epochs in their order


def in_order(before: InitProducerIdAnswer, after: InitProducerIdAnswer, *, retry: bool) -> bool:
    """True if the later answer has another producer id or a larger epoch; a retry may get the same pair."""
    if after.producer_id != before.producer_id:
        return True
    return after.producer_epoch > before.producer_epoch or (retry and after.producer_epoch == before.producer_epoch)


KINDS = sampled_from(["bump", "instance", "retry"])
BETWEEN = 5
"""The number of requests between two changes of coordinator."""
IDS = 6
"""The number of transactional ids in an example, all with one coordinator."""


class Epochs:
    """The epochs of a transactional id: its last answer, the producer id and epoch that were sent for it, and the last answer of
    the previous coordinator."""

    def __init__(self, producer: CheckProducer) -> None:
        self._producer = producer
        self._last = self._former = producer.require(producer.init(), "producer")
        self._sent = NO_EPOCH

    def ask(self, kind: str) -> tuple[tuple[int, int], InitProducerIdAnswer]:
        """Return what was sent, and the answer."""
        current = (self._last.producer_id, self._last.producer_epoch)
        retried = self._sent if self._sent != NO_EPOCH else current
        pair = {"instance": NO_EPOCH, "bump": current, "retry": retried}[kind]
        return pair, self._producer.init(*pair)

    def check(self, pair: tuple[int, int], answer: InitProducerIdAnswer, *, is_first: bool) -> Claims:
        """Check INIT-20 for an answer, which may be the first one of its coordinator."""
        retry, self._former = pair == self._sent != NO_EPOCH, self._last if is_first else self._former
        if retry and answer.error is not Error.NONE:
            return  # KIP360-INIT-09: a retry at another coordinator is fenced
        promised = ("KIP360-INIT-03", "untouched") if pair != NO_EPOCH else ("KIP360-INIT-02", "untouched")
        yield premise(answer.error is Error.NONE, f"granted: {answer}", promised=promised)
        yield held_if(in_order(self._former, answer, retry=retry), self._former, answer, case="fail-over")
        if not is_first:
            yield held_if(in_order(self._last, answer, retry=retry), self._last, answer, case="one-coordinator")
        self._last, self._sent = answer, pair


@probe(
    "KIP360-INIT-20",
    rig=THREE_BROKERS,
    cases=["fail-over"],
    smoke=False,
    kinds=lists(KINDS, min_size=8, max_size=10),
    how=HOW,
)
def epochs_only_grow(brokers: ThreeBrokers, kinds: list[str], how: How) -> Claims:
    """Each answer for a transactional id has a larger epoch than the one before, or another producer id, also at the next
    coordinator."""
    producers = brokers.coordinated_together(IDS)
    asked = [Epochs(producer) for producer in producers]
    for turn, kind in enumerate(kinds):
        moves = turn % BETWEEN == 0
        with brokers.replace_leader(brokers.state_partition(producers[0]), how) if moves else nullcontext():
            answers = [one.ask(kind) for one in asked]
        for one, (pair, answer) in zip(asked, answers, strict=True):
            yield from one.check(pair, answer, is_first=moves)


IN_A_BLOCK = 1_000
"""The number of producer ids in a block that the controller gives to a broker. A check must use up a block to detect
that it was given twice, since other checks used its beginning."""
AT_ONCE = 100
ALL = IN_A_BLOCK // AT_ONCE + 1
"""The number of requests that use up a broker's block."""
CONTROLLER_TIMEOUT = 60.0
"""Seconds in which a broker must find the next active controller."""


@probe(
    "KIP360-INIT-19",
    rig=THREE_BROKERS,
    cases=["broker-restart"],
    smoke=False,
    how=sampled_from(["kill", "stop"]),
    which=integers(0, 2),
    count=integers(6, 9),
)
def restarted_broker_gives_new_producer_ids(brokers: ThreeBrokers, how: How, which: int, count: int) -> Claims:
    """A broker that restarts within its block of producer ids gives none of them again, nor do the others, over more than
    a block of each."""
    names, given = brokers.bench.brokers, set[int]()
    for name in names:
        given.update(
            ask_until_served(brokers.bench, partial(brokers.bench.node(name).take_producer_ids, count)).producer_ids
        )
    restarted = names[which]
    with brokers.without_broker(restarted, how):
        pass
    await_answer(brokers.bench, restarted)
    for _ in range(ALL):
        for name in names:
            answer = ask_until_served(brokers.bench, partial(brokers.bench.node(name).take_producer_ids, AT_ONCE))
            yield observe_new_ids(answer, given, "broker-restart" if name == restarted else "across-brokers")


def observe_new_ids(answer: ProducerIdsAnswer, given: set[int], case: str) -> Claim:
    """Observe that the answer has ids, none of which was given before or is given twice."""
    again = given & set(answer.producer_ids)
    twice = len(set(answer.producer_ids)) < len(answer.producer_ids)
    given.update(answer.producer_ids)
    return held_if(
        bool(answer.producer_ids) and not again and not twice,
        answer,
        case=case,
        detail=f"given before: {say(sorted(again))}",
    )


class Brokers(msgspec.Struct, frozen=True):
    names: list[str]


def give_producer_ids(bench: Bench) -> Brokers:
    """Let the brokers grant some producer ids."""
    for name in bench.brokers:
        ask_until_served(bench, bench.node(name).init_producer_id)
    return Brokers(bench.brokers)


@probe(
    "KIP360-INIT-19",
    rig=Rig(LOG_QUORUM, give_producer_ids, lambda bench, data: bench, shared=True),
    cases=["controller-change"],
    smoke=False,
    how=sampled_from(["kill", "stop"]),
    first=integers(1, AT_ONCE),
)
def next_controller_gives_new_blocks(bench: Bench, how: How, first: int) -> Claims:
    """Blocks that the next active controller hands out have no producer id of earlier ones."""
    given: set[int] = set()
    for name in bench.brokers:
        given.update(ask_until_served(bench, partial(bench.node(name).take_producer_ids, first)).producer_ids)
    active = active_controller(bench, bench.controllers)
    others = [name for name in bench.controllers if name != active]
    (bench.processes.kill if how == "kill" else bench.processes.stop)(active, role="active controller")
    successor = active_controller(bench, others)
    await_controller_known(bench, successor)
    for name in bench.brokers:
        for _ in range(ALL):
            answer = ask_until_served(bench, partial(bench.node(name).take_producer_ids, AT_ONCE))
            yield observe_new_ids(answer, given, "controller-change")
    bench.processes.start(active)


def await_controller_known(bench: Bench, controller: str) -> None:
    """Wait until all brokers forward to this controller.

    Up to 3.5 a request for a producer id waits for that, so that many at once would time out (KAFKA-14694). A broker notices
    that the former controller is gone by the next request, which takes up to ten seconds, so all are asked at once.
    """

    found = dict[str, QuorumAnswer]()

    def ask(broker: str) -> None:
        found.update(bench.answers([broker], lambda name: bench.node(name).describe_quorum()))

    def are_forwarding() -> bool:
        found.clear()
        bench.run_in_parallel([partial(ask, broker) for broker in bench.brokers])
        return [answer.leader_id for answer in found.values()] == [bench.id_of(controller)] * len(bench.brokers)

    bench.eventually(are_forwarding, f"all brokers forwarding to {controller}", CONTROLLER_TIMEOUT, due="quorum")


def active_controller(bench: Bench, names: Sequence[str]) -> str:
    """Return the one of these controllers that describes itself as the quorum's leader, as soon as one does."""

    def leader() -> str | None:
        found = bench.answers(names, lambda name: bench.node(name, controller=True).describe_quorum())
        return next((name for name, answer in found.items() if answer.leader_id == bench.id_of(name)), None)

    return bench.eventually(leader, "an active controller", due="quorum")
