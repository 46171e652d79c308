"""The reach of examples: counted from their history, kept in files, and told at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from conformance.machines.log.machine import LOG_MACHINE
from conformance.running.machine.reach import FOLDER, Reach, ReachCounts, count_reached, reach_lines, read_counts
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, Stop
from strategies.log import Produce
from strategies.steps import Disturb, DisturbBriefly, Heal, ReassignPartition
from tests.miniature.machine import play

SCHEDULE: list[Any] = [
    Disturb(on="strict-0", fault=Kill(role="follower")),
    Disturb(on="strict-0", fault=Stop(role="follower")),
    ReassignPartition(on="loose", change="reorder"),
    Heal(),
]
LEFT_OUT = Disturb(on="strict-0", fault=Kill(role="voter"))
"""The miniature has one controller only."""


def test_an_example_reaches_what_it_did_and_not_what_was_left_out() -> None:
    reached = count_reached(play(LOG_MACHINE, [LEFT_OUT, *SCHEDULE]))
    assert reached.meetings == {"kill stop": 1, "reassign-partition kill": 1, "reassign-partition stop": 1}


def test_the_state_of_the_partition_at_each_injection_is_counted() -> None:
    reached = count_reached(play(LOG_MACHINE, SCHEDULE))
    assert reached.states["kill of the follower: led, 3 of 3 in the ISR"] == 1
    assert reached.states["stop of the follower: led, 2 of 3 in the ISR"] == 1


def test_answers_are_told_by_request_and_error() -> None:
    reached = count_reached(play(LOG_MACHINE, SCHEDULE))
    assert reached.answers["metadata: NONE"] > 0
    assert not any(words.endswith(": ok") for words in reached.answers if words.startswith("produce"))


def test_refusals_are_counted_by_the_name_of_their_error() -> None:
    deposed = Produce(on="strict-0", to="former-leader")
    reached = count_reached(play(LOG_MACHINE, [DisturbBriefly(on="strict-0", fault=MoveLeader()), deposed]))
    assert reached.answers["produce: NOT_LEADER_OR_FOLLOWER"] >= 1


def test_parts_add_up_and_outlive_their_run(tmp_path: Path) -> None:
    played = play(LOG_MACHINE, SCHEDULE)
    for part in ("1", "2"):
        Reach(tmp_path, LOG_MACHINE, part).note(played)
    again = Reach(tmp_path, LOG_MACHINE, "1")
    again.note(played)
    assert read_counts(tmp_path, LOG_MACHINE.id).meetings["kill stop"] == 3


def test_what_was_reached_in_earlier_runs_steers_away_from_it(tmp_path: Path) -> None:
    before = Reach(tmp_path, LOG_MACHINE, "1").steering("seed")
    assert before is not None
    met = ReachCounts(meetings={" ".join(before.pairs[0]): 9})
    (tmp_path / f"{LOG_MACHINE.id}-2.json").write_bytes(msgspec.json.encode(met))
    after = Reach(tmp_path, LOG_MACHINE, "1").steering("seed")
    assert after is not None
    assert before.pairs[0] not in after.pairs


def test_without_counts_the_seed_chooses_what_comes_first(tmp_path: Path) -> None:
    reach = Reach(tmp_path, LOG_MACHINE, "1")
    assert reach.steering("seed") == reach.steering("seed")
    assert len({str(reach.steering(f"seed {n}")) for n in range(10)}) > 5


def test_the_end_of_a_run_tells_what_was_reached_and_what_was_not(tmp_path: Path) -> None:
    assert reach_lines(tmp_path) == []
    Reach(tmp_path / FOLDER / "4.3.1", LOG_MACHINE, "1").note(play(LOG_MACHINE, SCHEDULE))
    pairs, besides = reach_lines(tmp_path)
    offer = LOG_MACHINE.machine.offer  # type: ignore[attr-defined]
    wanted = f"1 of {len(offer.pairs)} pairs of faults on one partition, not yet: kill + kill"
    assert pairs.startswith(f"machines.log.LogMachine: {wanted}")
    assert besides.startswith(
        f"machines.log.LogMachine: 2 of {len(offer.administration_pairs)} kinds of administration beside a fault"
    )
