"""Names of the steps that the tested system owes within a bound, for waits that ended without one."""

from typing import Literal

Due = Literal[
    "step",
    "answer",
    "time-out",
    "leader",
    "coordinator",
    "quorum",
    "node",
    "replica",
    "following",
    "candidacy",
    "leadership",
    "next fetch",
    "high watermark",
    "quorum description",
    "epoch after a refusal",
    "epoch after a candidacy",
    "epoch in the log",
    "producer",
    "producer epoch",
    "write",
    "description",
    "transaction end",
    "member",
    "commit",
    "assignment in the log",
]
"""The step that did not happen.

- step: the effect of a request or of an event;
- answer: the answer of a node that runs; time-out: the end of a transaction that is open for too long;
- leader, coordinator, quorum: a leader of a partition, a coordinator, a leader of the metadata quorum;
- node: a started node, up again; replica: all replicas of a partition, in its ISR;
- others are steps of a voter (KIP-595): it follows the leader that a request names, it becomes a candidate, it leads once a
  majority has voted for it, it goes on fetching, its high watermark rises to what all voters have fetched, it describes itself
  as leader and voter, it adopts a later epoch, its log shows its epoch;
- from coordinators (KIP-360, KIP-1251), for a client that may ask for it: a producer at its last answered producer id and epoch,
  its next epoch, its next batch (`write`), a description of producers, the markers of a transaction that has ended, a member at
  its last answered epoch, its commit, the record of its assignment.
"""

NOT_KNOWN = range(-1, -1)
"""The value for unknown numbers of a wait's events."""

START_TIMEOUT = 60.0
"""Seconds within which a started node is up and its replicas are in every ISR: the 30 of the general laws, and 30 more
for the start of its process on a busy machine."""

COORDINATOR_TIMEOUT = 60.0
"""Seconds within which a group or a transactional id has a coordinator: the 30 of the general laws for a leader of its
partition, and 30 more for loading that partition."""

SHARE = 0.25
"""The share of a bound by which the kit wakes late if it is starved of CPU."""


def is_starved(late: float, within: float) -> bool:
    """True if a bound of `within` seconds proves nothing, because the kit itself woke `late` seconds late meanwhile.

    A bound of 0 seconds is checked at once, without a wait that could be late.
    """
    return within > 0 and late >= SHARE * within
