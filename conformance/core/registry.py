"""The registry of all checks, probes and machines, by id."""

from functools import cache
from pathlib import PurePath

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.core.checks import Check, all_checks
from conformance.core.machines import AnyMachine, MachineCheck, all_machines
from conformance.core.profiles import PROFILES, Profile, shipped_budgets
from conformance.judging import patch_releases
from conformance.judging.judges import JUDGES, rows_about
from fixtures.cluster import Topology

AnyCheck = Check | AnyMachine


def every_check() -> dict[str, AnyCheck]:
    return {**all_checks(), **all_machines()}


def check_of_item(nodeid: str) -> AnyCheck:
    """Return the check of a pytest item, e.g. ``conformance/kip320/fencing.py::older_epoch_is_fenced[4.3.1]``.

    Raises KeyError for an item that is no check.
    """
    path, _, item = nodeid.rpartition("::")
    module = ".".join(PurePath(path).with_suffix("").parts).rpartition("conformance.")[2]
    return _by_item()[f"conformance.{module}", item.partition("[")[0]]


@cache
def _by_item() -> dict[tuple[str, str], AnyCheck]:
    return {(check.module, check.id.rpartition(".")[2]): check for check in every_check().values()}


def topology_of(check: AnyCheck, part: int) -> Topology:
    """Return the cluster on which a check, or this part of a machine, runs."""
    return check.topology_of(part) if isinstance(check, MachineCheck) else check.topology


def is_soak(check: AnyCheck) -> bool:
    """True if the check runs for minutes, for which only the nightly profile has time."""
    return isinstance(check, Check) and check.lasts > 0


def shortest_profile(check: AnyCheck) -> Profile:
    """Return the shortest profile with this check. Smoke has no checks that opt out, and no probes of scenario rows only, since
    those restart nodes; only nightly has soaks. The file of budgets names checks that are too long for a profile."""
    if is_soak(check) or check.id in shipped_budgets().only_nightly:
        return "nightly"
    if isinstance(check, MachineCheck):
        return "smoke"
    is_short = check.smoke and check.id not in shipped_budgets().from_quick
    return "smoke" if is_short and any(shipped_rows()[row].kind != "scenario" for row in check.rows) else "quick"


def is_in_profile(check: AnyCheck, profile: Profile) -> bool:
    """True if the profile has the check. Each profile has all checks of the shorter ones."""
    return PROFILES.index(shortest_profile(check)) <= PROFILES.index(profile)


@cache
def rows_with_a_probe(profile: Profile) -> frozenset[str]:
    """Return the rows of which a profile has a probe or schedule, whatever machines and judges see of them."""
    own = (check for check in every_check().values() if not isinstance(check, MachineCheck))
    return frozenset(row for check in own if is_in_profile(check, profile) for row in check.rows)


@cache
def rows_of_all_checks() -> tuple[str, ...]:
    """Return the rows at which no check aims, since any history may show them."""
    own = {row for check in every_check().values() for row in check.rows}
    rows = dict.fromkeys(judge.row for judge in JUDGES if judge.row not in own)
    return tuple(row for row in rows if shipped_rows()[row].level == "law")


def rows_observed_by(check: AnyCheck) -> list[str]:
    """Return the rows that a check observes: its own, those at which it aims, those at which no check aims, and, on a cluster
    with several voters, those of the quorum."""
    clusters = (check.topology, *check.topologies) if isinstance(check, MachineCheck) else (check.topology,)
    of_quorum = rows_about("quorum") if any(one.has_several_voters for one in clusters) else ()
    return [*dict.fromkeys([*check.rows, *rows_of_all_checks(), *of_quorum])]


@cache
def checks_by_row() -> dict[str, list[str]]:
    """Return the checks of each row that has any. The check of patch releases is run only by a merge.

    Raises CatalogueError if a row that nothing observes does not say so, or one that is observed claims the opposite.
    """
    rows: dict[str, list[str]] = {patch_releases.ROW: [patch_releases.CHECK]}
    for check in every_check().values():
        for row in rows_observed_by(check):
            rows.setdefault(row, []).append(check.id)
    _require_observed({*rows, *(judge.row for judge in JUDGES)})
    return dict(sorted(rows.items()))


@cache
def own_checks() -> dict[str, list[str]]:
    """Return the checks of each row that are meant for it; other checks may see it as well.

    They are the probes and schedules that name the row and, if it is a property or no check names it, the machines whose
    histories show it. If there are none, they are all checks that see the row. A row at which no check aims has all machines,
    which draw any situation; no machine aims at the quorum.
    """
    of_quorum = {*rows_about("quorum")}
    rows: dict[str, list[str]] = {}
    for row, ids in checks_by_row().items():
        seeing = [every_check()[id] for id in ids if id in every_check()]
        named = [check.id for check in seeing if isinstance(check, Check) and row in check.own_rows]
        machines = [check.id for check in seeing if isinstance(check, MachineCheck) and row not in of_quorum]
        own = named + machines if shipped_rows()[row].kind == "property" else named or machines
        rows[row] = own or ids
    return rows


def _require_observed(observed: set[str]) -> None:
    for row in shipped_rows():
        if row.id not in observed and not row.unobserved:
            raise CatalogueError(
                f"{row.id}: no judge and no check observes it. Write one, or give the row `unobserved = true` in its catalogue."
            )
        if row.id in observed and row.unobserved:
            raise CatalogueError(f"{row.id}: it is observed. Remove `unobserved = true` from its row in the catalogue.")
