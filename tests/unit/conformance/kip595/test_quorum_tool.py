"""The output of `kafka-metadata-quorum`, against DescribeQuorum (KIP595-TOOL-01, -02, -04)."""

from __future__ import annotations

import pytest

from conformance.kip595.quorum_tool import (
    describes,
    is_honest,
    is_in_form,
    refuses,
    status_in,
    wrong_table,
    wrong_values,
)
from history.readings import ToolRun
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica

STATUS = """\
ClusterId:              some-cluster
LeaderId:               101
LeaderEpoch:            4
HighWatermark:          9
MaxFollowerLag:         1
MaxFollowerLagTimeMs:   12
CurrentVoters:          [101,102]
CurrentObservers:       [1]
"""
TABLE = """\
NodeId\tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus\t
101\t10\t0\t1700000000000\t1700000000000\tLeader\t
102\t9\t1\t1700000000000\t1700000000000\tFollower\t
1\t9\t1\t1700000000000\t1700000000000\tObserver\t
"""


def described(watermark: int, *ends: int) -> QuorumAnswer:
    voters = tuple(QuorumReplica(replica_id=101 + n, log_end_offset=end) for n, end in enumerate(ends))
    return QuorumAnswer(
        version=1, topic=METADATA_TOPIC, partition=0, error=Error.NONE, leader_id=101, leader_epoch=4,
        high_watermark=watermark, current_voters=voters, observers=(QuorumReplica(replica_id=1, log_end_offset=9),),
    )  # fmt: skip


BEFORE, AFTER = described(9, 10, 9), described(10, 11, 10)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", []),
        ("LeaderId:               101", "LeaderId: 102", ["LeaderId"]),
        ("LeaderEpoch:            4", "LeaderEpoch: 3", ["LeaderEpoch"]),
        ("HighWatermark:          9", "HighWatermark: 8", ["HighWatermark"]),
        ("MaxFollowerLag:         1", "MaxFollowerLag: -1", ["MaxFollowerLag"]),
        ("MaxFollowerLag:         1", "MaxFollowerLag: 5", ["MaxFollowerLag"]),
        ("[101,102]", "[102]", ["CurrentVoters"]),
        ("[1]", "[1,2]", ["CurrentObservers"]),
        ("some-cluster", "another", ["ClusterId"]),
    ],
)
def test_values_that_describe_quorum_does_not_have_are_wrong(old: str, new: str, wrong: list[str]) -> None:
    assert wrong_values(status_in(STATUS.replace(old, new) if old else STATUS), "some-cluster", BEFORE, AFTER) == wrong


@pytest.mark.parametrize(
    ("voters", "as_ids", "as_objects"),
    [
        ("[101,102]", True, False),
        ('[{"id": 101, "endpoints": ["A://b:1"]}, {"id": 102, "endpoints": ["A://b:1"]}]', False, True),
        ("[101, 102", False, False),
        ("", False, False),
    ],
)
def test_the_voters_have_the_form_of_the_release(voters: str, as_ids: bool, as_objects: bool) -> None:
    assert (is_in_form(voters, "VOTERS_AS_IDS"), is_in_form(voters, "VOTERS_AS_OBJECTS")) == (as_ids, as_objects)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", ""),
        ("Observer", "Follower", "roles"),
        ("Lag\t", "LagTimeMs\t", "columns"),
        ("10\t0\t", "10\t3\t", "the first row"),
        ("102\t9\t1", "102\t9\t-1", "a negative lag"),
    ],
)
def test_a_table_that_is_wrong_says_where(old: str, new: str, wrong: str) -> None:
    found = wrong_table(TABLE.replace(old, new) if old else TABLE, "WITHOUT_DIRECTORY_ID", BEFORE)
    assert found.startswith(wrong) if wrong else not found


@pytest.mark.parametrize(
    ("done", "right"),
    [
        (ToolRun(code=0, out="LeaderId: 102\nLeaderEpoch: 5"), True),
        (ToolRun(code=0, out="LeaderId: 101\nLeaderEpoch: 4"), False),
        (ToolRun(code=0, out="LeaderId: 0\nLeaderEpoch: 0"), False),
        (ToolRun(code=1, err="Error while executing: Timed out waiting for a node assignment"), True),
        (ToolRun(code=1, err="java.lang.NullPointerException"), False),
    ],
)
def test_across_a_failover_it_names_the_successor_or_says_that_time_was_up(done: ToolRun, right: bool) -> None:
    assert is_honest(done, 4, [102, 103]) is right


@pytest.mark.parametrize(
    ("code", "out", "err", "refused", "described"),
    [
        (1, "", "only one of --status or --replication", True, False),
        (1, "usage: kafka-metadata-quorum", "", False, False),
        (0, "", "only one of --status or --replication", False, False),
        (1, STATUS, "and an error", False, False),
        (0, STATUS, "", False, True),
        (0, STATUS.replace("MaxFollowerLag: ", "Lag: "), "", False, False),
        (1, "", "Error: --bootstrap-controller is not a recognized option", True, False),
    ],
)
def test_misuse_is_refused_with_a_reason(code: int, out: str, err: str, refused: bool, described: bool) -> None:
    done = ToolRun(code=code, out=out, err=err)
    assert (refuses(done), describes(done)) == (refused, described)
