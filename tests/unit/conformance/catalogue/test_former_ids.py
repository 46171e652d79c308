"""Every id that a check ever had still leads to a check."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.catalogue.former_ids import MODULES, NAMES, current_id
from conformance.core.registry import every_check

RECORDED = (Path(__file__).parents[3] / "support" / "recorded_ids.txt").read_text().split()
"""The ids of all checks before any was renamed."""


@pytest.mark.parametrize("recorded", RECORDED)
def test_a_recorded_id_leads_to_a_check(recorded: str) -> None:
    assert current_id(recorded) in every_check()


def test_no_two_recorded_ids_lead_to_one_check() -> None:
    assert len({current_id(recorded) for recorded in RECORDED}) == len(RECORDED)


@pytest.mark.parametrize("check", every_check())
def test_an_id_of_today_stays_itself(check: str) -> None:
    assert current_id(check) == check


def test_the_tables_hold_no_superfluous_entry() -> None:
    modules = {recorded.rpartition(".")[0] for recorded in RECORDED}
    assert set(MODULES) <= modules
    functions = {(MODULES.get(m, m), name) for m, _, name in (recorded.rpartition(".") for recorded in RECORDED)}
    assert {(module, name) for module, names in NAMES.items() for name in names} <= functions
