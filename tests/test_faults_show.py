"""The table of shown faults: what was measured, in few words, and nothing without a witness among the rows."""

import pytest

from fixtures.errors import KitError
from fixtures.faults.injector import Injected
from fixtures.faults.process import Kill
from fixtures.faults.show import Ending, Shown, as_expected, chosen, table


def shown(witness: dict[str, object]) -> Shown:
    injected = Injected(
        fault="kill", role="leader", nodes=["broker-1"], witness=witness, inject_seconds=0.1, witness_seconds=1.5, heal_seconds=2
    )  # fmt: skip
    return Shown(fault="kill", role="leader", ending="witnessed", injected=injected)


def measured(witness: dict[str, object]) -> str:
    return table({"4.3.1": [shown(witness)]}).splitlines()[2].split(" | ")[3]


def test_before_and_after_are_an_arrow() -> None:
    assert measured({"leader": [1, 2], "leader epoch": [0, 1]}) == "leader 1 → 2, leader epoch 0 → 1"


def test_lists_before_and_after_are_told_from_the_arrow() -> None:
    assert measured({"ISR": [[1, 2, 3], [2, 3]]}) == "ISR 1,2,3 → 2,3"


def test_several_nodes_are_listed_with_their_values() -> None:
    assert measured({"engine": {"broker-1": "exited", "broker-2": "paused"}}) == (
        "engine broker-1 exited; broker-2 paused"
    )


def test_what_a_broker_said_does_not_break_the_table() -> None:
    assert measured({"said": "a|b"}) == "said a/b"


def test_a_fault_without_a_witness_is_no_row_and_tells_its_reason() -> None:
    lines = table({"4.3.1": [Shown(fault="kill", role="leader", ending="unwitnessed", reason="nothing\nmore")]})
    assert [line for line in lines.splitlines() if line.startswith("| 4.3.1")] == []
    assert lines.endswith("4.3.1: kill of leader is unwitnessed: nothing")


def test_globs_choose_faults_at_their_usual_role() -> None:
    found = chosen(["kill", "pause*"])
    assert [fault.name for fault in found] == ["kill", "pause", "pause-past-fencing", "paused-zombie"]
    assert {fault.role for fault in found} == {"leader"}


def test_every_role_is_chosen_where_asked_for() -> None:
    assert [fault.role for fault in chosen(["kill"], every_role=True)] == list(Kill.roles)


def test_a_glob_that_matches_nothing_is_told_what_there_is() -> None:
    with pytest.raises(KitError, match="'kil' matches no fault; there are clock-shift, "):
        chosen(["kil"])


def of(*endings: Ending) -> list[Shown]:
    return [Shown(fault="kill", role="leader", ending=ending) for ending in endings]


def test_all_witnessed_is_as_expected_and_what_cannot_be_had_does_not_count() -> None:
    assert as_expected(of("witnessed", "unavailable"))
    assert not as_expected(of("witnessed", "unwitnessed"))
    assert not as_expected(of("witnessed", "unhealed"))


def test_nothing_but_unavailable_faults_is_no_success() -> None:
    assert not as_expected(of("unavailable"))
    assert not as_expected([])


def test_a_sabotaged_fault_must_not_be_witnessed() -> None:
    assert as_expected(of("unwitnessed"), sabotage=True)
    assert not as_expected(of("unwitnessed", "witnessed"), sabotage=True)
    assert not as_expected(of("unavailable"), sabotage=True)
