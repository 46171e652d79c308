"""The quorum in the nodes' own metrics, at rest and while its leader is replaced (KIP-595, KIP-853, KIP-996)."""

from typing import Literal

from hypothesis.strategies import booleans, sampled_from

from conformance.core.checks import Claim, Claims, held_if, premise, probe
from conformance.judging.facts.gauges import number_of
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.lab import LAB, WITHIN, QuorumLab
from conformance.rigs.quorum.successors import ELECTS_WITHIN, other_leader
from history.readings import Metric
from protocol.log import LeaderAndEpoch
from protocol.words import say

BASE = frozenset(
    (
        "current-state", "current-leader", "current-vote", "current-epoch", "high-watermark", "log-end-offset", "log-end-epoch",
        "number-unknown-voter-connections", "commit-latency-avg", "commit-latency-max", "election-latency-avg",
        "election-latency-max", "fetch-records-rate", "append-records-rate", "poll-idle-ratio-avg",
    )
)  # fmt: skip
ATTRIBUTES = {
    "BASE": BASE,
    "VOTE_DIRECTORY": BASE | {"current-vote-directory-id"},
    "VOTER_COUNT": BASE | {"current-vote-directory-id", "number-of-voters"},
}
LEADER_ONLY = frozenset(("number-of-observers", "uncommitted-voter-change"))

_COMMON = frozenset(("leader", "candidate", "follower", "unattached"))
WORDS = {
    "VOTED": _COMMON | {"voted"},
    "PROSPECTIVE": _COMMON | {"prospective", "prospective-voted", "unattached-voted"},
}
"""The states that a controller may show, by release."""
AT_BROKER = {
    "VOTED": frozenset(("follower", "observer", "unattached")),
    "PROSPECTIVE": frozenset(("observer", "unattached")),
}

Fault = Literal["kill", "stop", "pause"]
Metrics = dict[str, Metric]


@probe("KIP595-MET-01", rig=LAB, cases=["attributes"], examples=1, smoke=False)
def nodes_have_the_attributes(lab: QuorumLab, expected: str) -> Claims:
    """Every node has the release's metrics of the quorum."""
    for name, found in lab.read_metrics().items():
        missing = ATTRIBUTES[expected] - found.values.keys()
        yield held_if(not missing, found, detail=f"{name} has no {say(sorted(missing))}")


@probe("KIP595-MET-01", rig=LAB, cases=["leader-only"], examples=1, smoke=False)
def leader_has_attributes_of_its_own(lab: QuorumLab) -> Claims:
    """The leader, and no other node, shows the number of observers and a pending change of voters."""
    before = lab.agreed_leader()
    found = lab.read_metrics()
    yield premise(lab.agreed_leader() == before, f"still {say(before)}")
    leader = lab.bench.name_of(before.leader_id)
    having = sorted(name for name, metrics in found.items() if metrics.values.keys() >= LEADER_ONLY)
    yield held_if(having == [leader], *found.values(), detail=f"{say(having)} have them, and {leader} leads")


@probe(
    "KIP595-MET-02", "KIP595-MET-03", "KIP595-MET-04", "KIP595-HW-06", "KIP595-INV-13", "KIP595-LIVE-04", "KIP595-LIVE-01",
    "KIP595-OBS-02", rig=LAB, cases=["controller"], examples=2, smoke=False,
    first=sampled_from(["kill", "stop", "pause"]), second=sampled_from(["kill", "stop", "pause"]), behind=booleans(),
)  # fmt: skip
def metrics_follow_the_leader(lab: QuorumLab, expected: str, first: Fault, second: Fault, behind: bool) -> Claims:
    """While leaders are replaced the metrics show what the quorum says, and the broker applies all that is committed.

    With `behind` the broker is frozen while the second leader is replaced. Judges look at all that the metrics showed.
    """
    yield from _replaced(lab, expected, first, behind=False)
    yield from _replaced(lab, expected, second, behind)


def _replaced(lab: QuorumLab, expected: str, fault: Fault, behind: bool) -> Claims:
    whole, led = lab.await_caught_up()
    yield premise(whole, "voters that have the leader's whole log")
    leader, processes = lab.bench.name_of(led.leader_id), lab.bench.processes
    yield from words_are_known(lab, lab.read_metrics(), expected)
    if behind:
        processes.pause(lab.broker)
    {"kill": processes.kill, "stop": processes.stop, "pause": processes.pause}[fault](leader, role="active controller")
    gone = [leader, lab.broker] if behind else [leader]
    elected, looks = lab.await_successor_in_metrics(gone, ELECTS_WITHIN)
    for look in looks:
        yield from words_are_known(lab, look, expected)
    yield held_if(elected, row="KIP595-LIVE-01", case="leader", detail=f"the leader {leader} was gone: {fault}")
    if not behind:
        lab.await_write(leader, WITHIN)
        yield from broker_finds_the_successor(lab, leader)
    (processes.resume if fault == "pause" else processes.start)(leader)
    if behind:
        processes.resume(lab.broker)
    yield from settles(lab, new_process=fault != "pause", returned=leader)


def broker_finds_the_successor(lab: QuorumLab, gone: str) -> Claims:
    """Check OBS-02: while the former leader is gone the broker names its successor, if there is one, and applies what that one
    has committed."""
    shown = list[tuple[float, int]]()
    wanted = list[tuple[int, int]]()

    def has_found() -> bool:
        led = other_leader(lab.bench, gone)
        if led is None:
            return False
        wanted[:] = wanted or [(led.leader_id, led.high_watermark - 1)]
        leader, committed = led.leader_id, wanted[0][1]
        shown[:] = [(number_of(lab.gauges(lab.broker).values, "current-leader"), lab.applied_offset())]
        return shown[0][0] == leader and shown[0][1] >= committed

    found = lab.bench.wait.becomes_true(has_found, f"{lab.broker} following the successor of {gone}", APPLIES_WITHIN)
    detail = f"leader and committed offset were {say(wanted)}; {lab.broker} showed {say(shown)}"
    if wanted:
        yield held_if(found, row="KIP595-OBS-02", case="broker", detail=detail)


def settles(lab: QuorumLab, new_process: bool, returned: str) -> Claims:
    """Check that the broker catches up, and the metrics of all nodes once the quorum is at rest."""
    led = lab.agreed_leader()
    wanted = lab.describe_by_leader().high_watermark
    applied = lab.bench.wait.becomes_true(
        lambda: lab.applied_offset() >= wanted - 1, f"{lab.broker} applies {wanted - 1}", APPLIES_WITHIN
    )
    yield held_if(applied, row="KIP595-LIVE-04", case="broker", detail=f"the high watermark was {wanted}")
    yield from agrees_with_the_protocol(lab, led)
    yield from watermarks_catch_up(lab)
    if new_process:
        yield from rates_are_of_the_role(lab, returned)


APPLIES_WITHIN = 30.0
"""The bound of KIP595-LIVE-04 in seconds, with the default timeouts."""


def words_are_known(lab: QuorumLab, look: Metrics, expected: str) -> Claims:
    """Check that each node shows a state of the release."""
    for name, found in look.items():
        state, is_broker = str(found.values.get("current-state")), name == lab.broker
        right = state in (AT_BROKER if is_broker else WORDS)[expected]
        case = "broker" if is_broker else "controller"
        yield held_if(right, found, row="KIP595-MET-02", case=case, detail=f"{name} showed {state!r}")


# --- agreement with the protocol


def agrees_with_the_protocol(lab: QuorumLab, led: LeaderAndEpoch) -> Claims:
    """Check leader, epoch, vote and high watermark in the metrics against what the controllers say before and after."""
    earlier, states = lab.describe_by_leader(), {name: lab.quorum_state(name) for name in lab.bench.members}
    look = lab.read_metrics()
    later = lab.describe_by_leader()
    still = lab.agreed_leader() == led == LeaderAndEpoch(earlier.leader_id, earlier.leader_epoch)
    yield premise(still and later.leader_epoch == led.leader_epoch, f"{say(led)} all the time")
    for name, found in look.items():
        shown = (number_of(found.values, "current-leader"), number_of(found.values, "current-epoch"))
        right = shown == (led.leader_id, led.leader_epoch)
        yield _met_03(right, found, "leader-and-epoch", f"{name} showed {say(shown)}")
        vote, leads = number_of(found.values, "current-vote"), lab.bench.id_of(name) == led.leader_id
        voted = led.leader_id if leads else states[name].voted_id
        yield _met_03(vote == voted, found, "vote", f"{name} showed a vote for {vote}, not {voted}")
        unknown = number_of(found.values, "number-unknown-voter-connections")
        yield _met_03(unknown == 0, found, "connections", f"{name} showed {unknown} voters without a connection")
    leader = look[lab.bench.name_of(led.leader_id)]
    for gauge, first, last in (
        ("high-watermark", earlier.high_watermark, later.high_watermark),
        ("log-end-offset", own_end(led.leader_id, earlier), own_end(led.leader_id, later)),
    ):
        known = number_of(leader.values, gauge)
        text = f"the leader showed the {gauge} {known}, and described {first}, then {last}"
        yield _met_03(first <= known <= last, leader, "high-watermark", text)


def _met_03(right: bool, by: Metric, case: str, detail: str) -> Claim:
    return held_if(right, by, row="KIP595-MET-03", case=case, detail=detail)


MAX_WAIT = 0.5
"""Seconds for which a leader holds a follower's fetch, after which the follower learns the high watermark."""
SLACK = 2.0
"""Seconds for reading metrics of four nodes on a busy host."""


def watermarks_catch_up(lab: QuorumLab) -> Claims:
    """Check that followers and the broker learn the leader's high watermark in time."""
    wanted = lab.describe_by_leader().high_watermark
    shown = Metrics()

    def all_have_it() -> bool:
        shown.update(lab.read_metrics())
        return all(number_of(found.values, "high-watermark") >= wanted for found in shown.values())

    learnt = lab.bench.wait.becomes_true(all_have_it, f"the high watermark {wanted} at all nodes", MAX_WAIT + SLACK)
    for name, found in shown.items():
        known = number_of(found.values, "high-watermark")
        detail = f"the leader's was {wanted}, and {name} showed {known}"
        yield held_if(known >= wanted or learnt, found, row="KIP595-HW-06", case="catches-up", detail=detail)


# --- rates


def rates_are_of_the_role(lab: QuorumLab, returned: str) -> Claims:
    """Check the rates and latencies of the leader, the broker, and a controller that came back as a follower.

    Rates are of the last minute, so only a new process is sure to show none of the time when it led.
    """
    leader = lab.one("leader")
    yield premise(leader != returned, f"{returned} follows")
    look = Metrics()

    def all_moved() -> bool:
        look.update(lab.read_metrics())
        return not any(wrong_rates(look, leader, returned, lab.broker).values())

    moved = lab.bench.wait.becomes_true(all_moved, "rates of the leader and of those who fetch", RATES_WITHIN)
    yield premise(lab.one("leader") == leader, f"{leader} still leads")
    for (case, name), wrong in wrong_rates(look, leader, returned, lab.broker).items():
        yield held_if(moved if wrong else True, look[name], row="KIP595-MET-04", case=case, detail=wrong)


RATES_WITHIN = 10.0
"""Seconds within which a process has fetched or appended several records: the leader appends one each half second."""


def wrong_rates(look: Metrics, leader: str, follower: str, broker: str) -> dict[tuple[str, str], str]:
    """Return what these metrics do not show yet, in words, by case and node; empty where they show it."""
    found = dict[tuple[str, str], str]()
    for name in (leader, follower, broker):
        shown = look[name].values
        appends, fetches = (float(shown.get(f"{what}-records-rate") or 0) for what in ("append", "fetch"))
        wrong = (appends > 0) != (name == leader)
        found["append", name] = f"{name} showed an append rate of {appends:.3f}, and {leader} leads" if wrong else ""
        if name != leader:
            wrong = fetches <= 0
            found["fetch", name] = f"{name} showed a fetch rate of {fetches:.3f}, and {leader} leads" if wrong else ""
        idle = shown.get("poll-idle-ratio-avg")
        right = isinstance(idle, float | int) and 0 <= idle <= 1
        found["poll-idle", name] = "" if right else f"{name} showed {idle}"
    for case in ("commit-latency", "election-latency"):
        values = [look[leader].values.get(f"{case}-{kind}") for kind in ("avg", "max")]
        right = all(isinstance(one, float | int) and one >= 0 for one in values)
        found[case, leader] = "" if right else f"the leader {leader} showed {say(values)}"
    return found
