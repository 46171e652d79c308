"""Rows that nothing observes say so, and no others do."""

from __future__ import annotations

import pytest

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.core.checks import Check
from conformance.core.registry import _require_observed, checks_by_row, every_check, own_checks
from conformance.judging.judges import JUDGES

OBSERVED = {*checks_by_row(), *(judge.row for judge in JUDGES)}
UNOBSERVED = next(row.id for row in shipped_rows() if row.unobserved)


def test_a_row_that_nothing_observes_is_refused_by_name() -> None:
    with pytest.raises(CatalogueError, match=r"KIP320-FETCH-02: no judge and no check observes it\. Write one, or"):
        _require_observed(OBSERVED - {"KIP320-FETCH-02"})


def test_a_row_that_says_so_and_is_observed_is_refused_by_name() -> None:
    with pytest.raises(CatalogueError, match=rf"{UNOBSERVED}: it is observed\. Remove `unobserved = true`"):
        _require_observed(OBSERVED | {UNOBSERVED})


def test_every_row_with_a_check_has_one_of_its_own() -> None:
    assert own_checks().keys() == checks_by_row().keys()
    assert all(set(own) <= set(checks_by_row()[row]) for row, own in own_checks().items())
    assert [row for row, own in own_checks().items() if not own] == []


def test_every_check_is_an_own_one_of_some_row() -> None:
    assert every_check().keys() - {check for own in own_checks().values() for check in own} == set()


def test_own_checks_name_the_row_and_schedules_that_aim_at_it_do_not_count() -> None:
    probe = "kip320.fencing.newer_epoch_is_unknown"
    assert own_checks()["KIP320-FETCH-03"] == [probe]
    aiming = [every_check()[id] for id in checks_by_row()["KIP320-FETCH-03"] if id != probe]
    assert any(isinstance(check, Check) and check.schedule for check in aiming)


def test_a_property_has_the_machines_that_aim_at_it_beside_the_probes_that_name_it() -> None:
    machines = {id for id in checks_by_row()["GEN-01"] if id.startswith("machines.")}
    assert len(machines) == 2
    own = set(own_checks()["GEN-01"])
    assert machines < own
    assert all("GEN-01" in check.own_rows for id in own - machines if isinstance(check := every_check()[id], Check))
