"""The output and the exit codes of `kafka-metadata-quorum` (KIP-595, KIP-836, KIP-853, KIP-919)."""

import re

from conformance.core.checks import Claim, Claims, held_if, premise, probe
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.lab import LAB, QuorumLab
from conformance.rigs.quorum.successors import ELECTS_WITHIN
from fixtures.cluster.config import BROKER_PORT, CONTROLLER_PORT
from history.readings import ToolRun
from protocol.quorum import QuorumAnswer
from protocol.words import say

KEYS = (
    "ClusterId", "LeaderId", "LeaderEpoch", "HighWatermark", "MaxFollowerLag", "MaxFollowerLagTimeMs", "CurrentVoters",
    "CurrentObservers",
)  # fmt: skip
COLUMNS = ["NodeId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"]

RUNS = 5
"""Runs of the tool in one example; each starts a JVM."""


def run(lab: QuorumLab, *arguments: str) -> ToolRun:
    """Run the tool against the broker, which forwards DescribeQuorum to the leader."""
    return lab.bench.run_quorum_tool("--bootstrap-server", f"{lab.broker}:{BROKER_PORT}", "describe", *arguments)


def could_run(done: ToolRun) -> Claim:
    """Return the premise that the release's tool could be run."""
    return premise(not done.missing, f"the release's tool: {done.missing}")


def is_done(done: ToolRun) -> bool:
    return done.code == 0 and not done.err.strip().startswith("Error")


# --- describe --status


@probe("KIP595-TOOL-01", rig=LAB, cases=["keys", "values"], examples=1, smoke=False)
def tool_describes_the_status(lab: QuorumLab, expected: str) -> Claims:
    """The tool's status has all keys, the voters in the release's form, and the values of DescribeQuorum."""
    for _ in range(RUNS):
        before = lab.describe_by_leader()
        done = run(lab, "--status")
        after = lab.describe_by_leader()
        yield could_run(done)
        yield premise(after.leader_epoch == before.leader_epoch, "one leader meanwhile")
        status = status_in(done.out)
        form = is_in_form(status.get("CurrentVoters", ""), expected)
        yield held_if(is_done(done) and set(status) == set(KEYS) and form, done, case="keys", detail=done.out)
        wrong = wrong_values(status, lab.cluster_id, before, after)
        yield held_if(
            is_done(done) and not wrong, before, done, after, case="values", detail=f"{say(wrong)} in {done.out}"
        )


def status_in(text: str) -> dict[str, str]:
    """Return the values that the tool printed, by key."""
    lines = [line.partition(":") for line in text.splitlines() if ":" in line]
    return {key.strip(): value.strip() for key, _, value in lines}


def is_in_form(voters: str, expected: str) -> bool:
    """True if the voters are printed in the form of the release."""
    if expected == "VOTERS_AS_IDS":
        return re.fullmatch(r"\[\d+(,\d+)*\]", voters) is not None
    one = r'\{"id": \d+, .*?\}'
    return re.fullmatch(rf"\[{one}(, {one})*\]", voters) is not None and '"endpoints"' in voters


def ids_in(printed: str) -> list[int]:
    """Return the ids of the replicas in a value, sorted; in either form."""
    found = re.findall(r'"id": (\d+)', printed) or re.findall(r"\d+", printed)
    return sorted(map(int, found))


def wrong_values(status: dict[str, str], cluster_id: str, before: QuorumAnswer, after: QuorumAnswer) -> list[str]:
    """Return the keys whose values are not those of DescribeQuorum, as asked before and after."""
    ends = [own_end(voter.replica_id, before) for voter in before.current_voters]
    lag = own_end(after.leader_id, after) - min(ends)
    right = {
        "ClusterId": status.get("ClusterId") == cluster_id,
        "LeaderId": _number(status, "LeaderId") == before.leader_id,
        "LeaderEpoch": _number(status, "LeaderEpoch") == before.leader_epoch,
        "HighWatermark": before.high_watermark <= _number(status, "HighWatermark") <= after.high_watermark,
        "MaxFollowerLag": 0 <= _number(status, "MaxFollowerLag") <= lag,
        "CurrentVoters": ids_in(status.get("CurrentVoters", "")) == sorted(v.replica_id for v in before.current_voters),
        "CurrentObservers": ids_in(status.get("CurrentObservers", ""))
        == sorted(o.replica_id for o in before.observers),
    }
    return [key for key, is_right in right.items() if not is_right]


def _number(status: dict[str, str], key: str) -> int:
    text = status.get(key, "")
    return int(text) if re.fullmatch(r"-?\d+", text) else -2


# --- describe --replication


@probe("KIP595-TOOL-02", rig=LAB, examples=1, smoke=False)
def tool_describes_the_replicas(lab: QuorumLab, case: str, expected: str) -> Claims:
    """The tool's table has the release's columns, the leader in the first row with lag 0, and the role of each replica."""
    for _ in range(RUNS):
        before = lab.describe_by_leader()
        done = run(lab, "--replication", *(["--human-readable"] if case == "human-readable" else []))
        after = lab.describe_by_leader()
        yield could_run(done)
        yield premise(after.leader_epoch == before.leader_epoch, "one leader meanwhile")
        wrong = wrong_table(done.out, expected, before)
        readable = case == "table" or "ms ago" in done.out
        yield held_if(
            is_done(done) and not wrong and readable, before, done, detail=f"{wrong or 'not readable'}: {done.out}"
        )


def wrong_table(text: str, expected: str, described: QuorumAnswer) -> str:
    """Say what is wrong with the table; empty if nothing is."""
    header, *rows = [line for line in text.splitlines() if line.strip()] or [""]
    columns = [*COLUMNS[:1], "DirectoryId", *COLUMNS[1:]] if expected == "WITH_DIRECTORY_ID" else COLUMNS
    if header.split() != columns:
        return f"columns {say(header.split())}"
    cells = [row.split() for row in rows]
    roles = {int(row[0]): row[-1] for row in cells}
    wanted = {one.replica_id: "Observer" for one in described.observers}
    wanted |= {one.replica_id: "Follower" for one in described.current_voters} | {described.leader_id: "Leader"}
    if roles != wanted:
        return f"roles {say(roles)}, not {say(wanted)}"
    lags = [row[columns.index("Lag")] for row in cells]
    if cells[0][-1] != "Leader" or lags[0] != "0":
        return f"the first row {say(cells[0])}"
    return "a negative lag" if any(lag.startswith("-") for lag in lags) else ""


# --- usage and failover


@probe("KIP595-TOOL-03", rig=LAB, examples=1, smoke=False)
def tool_refuses_misuse(lab: QuorumLab, case: str) -> Claims:
    """Describe takes exactly one of its two options, and a controller in place of a broker."""
    arguments = {
        "neither": ("--bootstrap-server", f"{lab.broker}:{BROKER_PORT}", "describe"),
        "both": ("--bootstrap-server", f"{lab.broker}:{BROKER_PORT}", "describe", "--status", "--replication"),
        "bootstrap-controller": (
            "--bootstrap-controller", f"{lab.controllers[0]}:{CONTROLLER_PORT}", "describe", "--status",
        ),
    }  # fmt: skip
    for _ in range(RUNS):
        done = lab.bench.run_quorum_tool(*arguments[case])
        yield could_run(done)
        right = describes(done) if case == "bootstrap-controller" else refuses(done)
        yield held_if(right, done, detail=f"code {done.code}: {done.out}{done.err}")


def describes(done: ToolRun) -> bool:
    """True if the tool printed a whole status."""
    return is_done(done) and set(status_in(done.out)) == set(KEYS)


def refuses(done: ToolRun) -> bool:
    """True if the tool ended with 1 and said why, without a status."""
    return done.code == 1 and bool(done.err.strip()) and "LeaderId" not in done.out


@probe("KIP595-TOOL-04", rig=LAB, cases=["failover"], examples=2, smoke=False)
def tool_runs_across_a_failover(lab: QuorumLab) -> Claims:
    """Run while the leader is replaced, the tool names a leader of a later epoch or says that time was up."""
    whole, led = lab.await_caught_up()
    yield premise(whole, "voters that have the leader's whole log")
    ready = run(lab, "--status")
    yield could_run(ready)
    leader = lab.bench.name_of(led.leader_id)
    with lab.bench.processes.down(leader, role="active controller"):
        done = run(lab, "--status")
        elected = lab.await_successor(leader, ELECTS_WITHIN)[0]
        yield premise(elected, f"a successor of {leader}", promised=("KIP595-LIVE-01", "leader"))
        then = run(lab, "--status")
    others = [lab.bench.id_of(name) for name in lab.controllers if name != leader]
    for one in (done, then):
        yield held_if(is_honest(one, led.leader_epoch, others), one, detail=f"code {one.code}: {one.out}{one.err}")


def is_honest(done: ToolRun, epoch: int, others: list[int]) -> bool:
    """True if the tool named one of the others as leader of a later epoch, or failed since time was up."""
    if done.code == 0:
        status = status_in(done.out)
        return _number(status, "LeaderId") in others and _number(status, "LeaderEpoch") > epoch
    return done.code == 1 and ("imed out" in done.err or "TimeoutException" in done.err)
