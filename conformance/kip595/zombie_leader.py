"""A leader that is cut off from the other voters while brokers and clients still reach it (KIP595-SC-01)."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from hypothesis.strategies import sampled_from

from conformance.core.checks import Claim, Claims, held_if
from conformance.rigs.quorum.disturbed import (
    FETCH_TIMEOUT,
    SETTLES_WITHIN,
    DisturbedQuorum,
    all_run,
    described_by_leader,
    held_at_rest,
    quorum_scenario,
    settles,
)
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.writer import TopicsByBroker, Write
from fixtures.faults.kinds.zombies import IsolatedControllerLeader
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import QuorumAnswer
from protocol.words import say

CUT_FOR = 8.0
"""Seconds of isolation: enough for another leader, and for a broker that tries again to reach it."""


class ZombieAnswers(NamedTuple):
    """The answers of a leader that was cut off from the voters, and of brokers: its descriptions of the quorum, the writes to it,
    those to brokers, and the topics that brokers showed."""

    looks: list[QuorumAnswer]
    direct: list[Write]
    through: list[Write]
    shown: list[TopicsByBroker]


@quorum_scenario(
    "KIP595-SC-01",
    "KIP595-HW-05",
    "KIP595-LEAD-04",
    "KIP595-LEAD-05",
    "KIP595-LOG-05",
    verdict=sampled_from(["drop", "reject"]),
)
def zombie_acknowledges_nothing(disturbed: DisturbedQuorum, verdict: Literal["drop", "reject"]) -> Claims:
    """A leader without the other voters commits nothing, and follows their leader once it is reconnected."""
    before = disturbed.quorum.agreed_leader()
    with disturbed.standing(IsolatedControllerLeader(verdict=verdict)) as injected:
        zombie = injected.nodes[0]
        seen = watch(disturbed, zombie)
    yield from nothing_is_committed(seen, before)
    yield all_run(disturbed)
    yield from yields_on_contact(disturbed, zombie, before)
    yield from settles(disturbed)
    yield from none_was_acknowledged_in_vain(disturbed, seen)
    yield from all_or_nothing(disturbed, [*seen.direct, *seen.through])


def watch(disturbed: DisturbedQuorum, zombie: str) -> ZombieAnswers:
    """Write to the zombie and to brokers in turn, and look at what both show, for `CUT_FOR` seconds."""
    seen = ZombieAnswers([disturbed.describe(zombie)], [], [], [])
    disturbed.bench.wait.becomes_true(lambda: _grows(disturbed, zombie, seen.looks), "a longer log", FETCH_TIMEOUT)
    for number in disturbed.rounds(CUT_FOR):
        seen.looks.append(disturbed.describe(zombie))
        seen.direct.append(disturbed.writer.create(zombie))
        seen.looks.append(disturbed.describe(zombie))
        broker = disturbed.brokers[number % len(disturbed.brokers)]
        seen.through.append(disturbed.writer.write(broker))
        seen.shown.append(disturbed.writer.read_back(disturbed.brokers))
    return seen


def _grows(disturbed: DisturbedQuorum, zombie: str, looks: list[QuorumAnswer]) -> bool:
    """Look again; True if the zombie's log has grown since the first look."""
    looks.append(disturbed.describe(zombie))
    return own_end(disturbed.bench.id_of(zombie), looks[-1]) > own_end(disturbed.bench.id_of(zombie), looks[0])


def nothing_is_committed(seen: ZombieAnswers, before: LeaderAndEpoch) -> Iterator[Claim]:
    """Check HW-05: no write that the zombie took is acknowledged, and its high watermark stays while its log grows. A write that
    it refused, since it led no more, says nothing."""
    led = [one for one in seen.looks if one.error is Error.NONE and one.leader_epoch == before.leader_epoch]
    ends = [own_end(before.leader_id, one) for one in led]
    if led and ends[-1] > ends[0]:
        detail = f"its log grew from {ends[0]} to {ends[-1]}"
        stays = led[-1].high_watermark == led[0].high_watermark
        yield held_if(stays, led[0], led[-1], row="KIP595-HW-05", case="hw-frozen", detail=detail)
    for one in taken_writes(seen.direct):
        held = one.outcome != "acknowledged"
        yield held_if(held, *_answers(one), row="KIP595-HW-05", case="not-acked", detail=f"{one.node} answered")


def taken_writes(writes: Sequence[Write]) -> list[Write]:
    """Return the writes that a node acknowledged, or may have begun to carry out."""
    return [one for one in writes if one.outcome != "refused"]


def _answers(write: Write) -> Sequence[object]:
    return [] if write.answer is None else [write.answer]


def yields_on_contact(disturbed: DisturbedQuorum, zombie: str, before: LeaderAndEpoch) -> Claims:
    """Check LEAD-05: the zombie names a later epoch in time, and its log reaches the end that the leader's has."""
    id, known, reached = disturbed.bench.id_of(zombie), list[LeaderAndEpoch](), -1

    def follows() -> bool:
        nonlocal reached
        known.extend(disturbed.known_by([zombie]).values())
        led = described_by_leader(disturbed)
        if led is None or not known or known[-1] != LeaderAndEpoch(led.leader_id, led.leader_epoch):
            return False
        reached = own_end(led.leader_id, led) if reached < 0 else reached
        return led.leader_epoch > before.leader_epoch and own_end(id, led) >= reached

    in_time = disturbed.bench.wait.becomes_true(follows, f"{zombie} following a later leader", SETTLES_WITHIN)
    detail = f"{zombie} named {say(known[-1:])}; the leader's log had ended at {reached}"
    yield held_if(in_time, row="KIP595-LEAD-05", case="heal", detail=detail)


def none_was_acknowledged_in_vain(disturbed: DisturbedQuorum, seen: ZombieAnswers) -> Iterator[Claim]:
    """Check LEAD-04: what a node acknowledged, or a broker showed, is there in the end, under the same id, unless its deletion
    was requested. Where the zombie took no write, there was nothing to acknowledge."""
    for case, writes in (
        (("direct", seen.direct), ("through-broker", seen.through)) if taken_writes(seen.direct) else ()
    ):
        kept = [one for one in writes if one.outcome == "acknowledged" and one.topic not in disturbed.writer.deleted]
        lost = [one.topic for one in kept if not _is_everywhere(one, disturbed.shown)]
        ghosts = _ghosts(seen, disturbed.shown) if case == "through-broker" else []
        detail = f"acknowledged and not there in the end: {say(lost)}; shown by brokers only for a while: {say(ghosts)}"
        held = held_at_rest(disturbed, not lost and not ghosts)
        yield held_if(held, row="KIP595-LEAD-04", case=case, detail=detail)


def _is_everywhere(write: Write, shown: TopicsByBroker) -> bool:
    return all(topics.get(write.topic, NOWHERE) == write.topic_id for topics in shown.values())


NOWHERE = UUID(int=1)
"""Stands in for the id of a topic that is not there."""


def _ghosts(seen: ZombieAnswers, shown: TopicsByBroker) -> list[str]:
    """Return the topics of writes to the zombie that a broker showed while it was cut off, and that are not there in the end."""
    direct = {one.topic for one in seen.direct}
    once = {(name, id) for look in seen.shown for topics in look.values() for name, id in topics.items()}
    last = {(name, id) for topics in shown.values() for name, id in topics.items()}
    return sorted(name for name, _ in once - last if name in direct)


def all_or_nothing(disturbed: DisturbedQuorum, writes: Sequence[Write]) -> Iterator[Claim]:
    """Check LOG-05: a write of unknown outcome is on all brokers in the end, or on none."""
    shown = disturbed.shown
    for one in writes:
        if one.outcome == "unknown":
            found = {topics.get(one.topic, NOWHERE) for topics in shown.values()}
            by = sorted(name for name, topics in shown.items() if one.topic in topics)
            detail = f"{one.topic}, written to {one.node}, is known to {say(by)} of {say(sorted(shown))}"
            held = held_at_rest(disturbed, len(found) == 1)
            yield held_if(held, row="KIP595-LOG-05", case="unacked", detail=detail)
