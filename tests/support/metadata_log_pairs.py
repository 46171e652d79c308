"""Pairs of histories about the metadata log: one in which a judge sees a violation, and a similar one without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.metadata_logs import LOG, SHORT, MetadataLogHistory, Written

LogPair = tuple[MetadataLogHistory, MetadataLogHistory]

TAIL: tuple[Written, ...] = (*SHORT, (5, 9, 1, "other"))
"""The log of a deposed leader of epoch 1 that did not learn of epoch 2."""
OTHER: tuple[Written, ...] = (LOG[0], (1, 4, 1, "other"), *LOG[2:])


def beside(*batches: Written, watermark: int = 5, epoch: int = 1, node: int = 102, **how: Any) -> MetadataLogHistory:
    """A leader names a high watermark, then the logs of 101 and of another controller are read."""
    return MetadataLogHistory().commits(watermark, epoch).reads_log(101, *LOG).reads_log(node, *batches, **how)


def alone(*batches: Written, **how: Any) -> MetadataLogHistory:
    """One log is read."""
    return MetadataLogHistory().reads_log(101, *(batches or LOG), **how)


def granted(*granting: int) -> MetadataLogHistory:
    """Voters granted their votes to 103 in epoch 2."""
    return alone(changes={2: {"granting": granting}})


def named(*voters: int) -> MetadataLogHistory:
    """A LeaderChange record names voters."""
    return alone(changes={2: {"voters": voters}})


PAIRS: dict[str, Callable[[], LogPair]] = {
    "logs_match": lambda: (beside(*OTHER), beside(*TAIL)),
    "equal_offset_and_epoch_is_equal_bytes": lambda: (beside(*OTHER), beside(*TAIL)),
    "committed_prefix_never_changes": lambda: (
        beside(*SHORT, (5, 5, 3), (6, 9, 3), watermark=8, epoch=2),
        beside(*TAIL, watermark=8, epoch=2),
    ),
    "no_older_epoch_behind_a_committed_record": lambda: (
        beside(*SHORT, (5, 7, 1), (8, 9, 2), watermark=8, epoch=2),
        beside(*TAIL, watermark=8, epoch=2),
    ),
    "snapshots_of_one_id_are_equal": lambda: (
        beside(*LOG, snapshots=[(5, 1, "a")]).reads_log(103, *LOG, snapshots=[(5, 1, "b")]),
        beside(*LOG, snapshots=[(5, 1, "a")]).reads_log(103, *LOG, snapshots=[(6, 2, "b")]),
    ),
    "leader_change_opens_each_epoch": lambda: (alone(changes={2: None}), alone(LOG[3], changes={2: None})),
    "leader_change_names_a_majority": lambda: (granted(103), granted(101, 103)),
    "leaders_were_granted_by_a_majority": lambda: (granted(101, 102), granted(102, 103)),
    "granting_voters_voted_for_the_leader": lambda: (
        granted(101, 103).vote(101, 102, 2, granted=True),
        granted(101, 103).vote(102, 102, 2, granted=True),
    ),
    "logs_name_one_leader_of_each_epoch": lambda: (
        beside(*LOG, changes={2: {"leader": 101}}),
        beside(*SHORT, (5, 9, 3), changes={3: {"leader": 102}}),
    ),
    "no_observer_is_in_a_leader_change": lambda: (named(1, 102, 103), named(102, 103)),
    "no_broker_is_in_a_leader_change": lambda: (granted(1, 103), granted(103)),
    "leader_begins_above_all_committed_records": lambda: (beside(*LOG, watermark=6), beside(*LOG)),
    "later_leaders_hold_what_was_committed": lambda: (
        beside(LOG[0], *LOG[2:], node=103),
        beside(*LOG[2:], node=103, epochs={1: 5, 2: 5}),
    ),
    "epochs_in_a_log_never_decrease": lambda: (alone((0, 0, 2), (1, 4, 1)), alone()),
    "log_is_in_the_order_of_epochs": lambda: (alone((0, 0, 2), (1, 4, 1)), alone()),
    "epoch_files_agree_with_the_log": lambda: (alone(epochs={1: 0, 2: 6}), alone(epochs={1: 0, 2: 5, 3: 10})),
}
