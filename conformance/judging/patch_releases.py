"""GEN-07, judged over the columns of a merge: a patch release offers at least the APIs and versions of the patch before it.

Only clusters of the same shape are compared, since what a broker offers may depend on how it is set up.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from history.releases import RELEASED, place_of_version
from history.shards import Column, Header

ROW, CHECK = "GEN-07", "merge.patches_take_nothing_away"
LOWEST = "lowest."
"""The prefix of an API's lowest version in a column's ranges."""
GONE, HIGHEST_VERSION, LOWEST_VERSION = "api-gone", "highest-version", "lowest-version"


class PatchComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One case on one topology, compared with the patch before it; `detail` names the APIs and versions that were removed."""

    case: str
    held: bool
    detail: str


def comparisons(columns: Mapping[str, Sequence[Header]]) -> dict[str, list[PatchComparison]]:
    """Compare each column with the newest older patch of its minor. Only released versions are compared."""
    released = {name: headers for name, headers in columns.items() if _is_release(headers[0].column)}
    return {name: list(_compare(headers, released.values())) for name, headers in released.items()}


def _is_release(column: Column) -> bool:
    return column.label == column.version and RELEASED.fullmatch(column.version) is not None


def _compare(headers: Sequence[Header], others: Iterable[Sequence[Header]]) -> Iterator[PatchComparison]:
    version = headers[0].column.version
    older = [other for other in others if _is_older_patch(other[0].column.version, version)]
    newest = max((place_of_version(other[0].column.version) for other in older), default=None)
    for before in (other for other in older if place_of_version(other[0].column.version) == newest):
        was, now = _offered_ranges(before), _offered_ranges(headers)
        for topology in sorted(was.keys() & now.keys()):
            yield from _cases(was[topology], now[topology], f"{topology} cluster of {before[0].column.version}")


def _is_older_patch(one: str, of: str) -> bool:
    return place_of_version(one).numbers[:2] == place_of_version(of).numbers[:2] and place_of_version(
        one
    ) < place_of_version(of)


def _offered_ranges(headers: Sequence[Header]) -> dict[str, dict[str, int]]:
    """Return the ranges of APIs that each topology offers."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for header in headers:
        found[header.topology] |= {name: level for name, level in header.column.ranges.items() if _is_of_api(name)}
    return {topology: ranges for topology, ranges in found.items() if ranges}


def _is_of_api(name: str) -> bool:
    return "." not in name.removeprefix(LOWEST).removeprefix("controller.")


def _cases(was: Mapping[str, int], now: Mapping[str, int], where: str) -> Iterator[PatchComparison]:
    gone = [name for name in was if name not in now and not name.startswith(LOWEST)]
    common = [name for name in was if name in now]
    lower = [name for name in common if not name.startswith(LOWEST) and now[name] < was[name]]
    higher = [name for name in common if name.startswith(LOWEST) and now[name] > was[name]]
    yield _comparison(GONE, [f"{name} is not offered" for name in gone], where)
    yield _comparison(HIGHEST_VERSION, [f"{name} up to {now[name]}, not {was[name]}" for name in lower], where)
    taken = [f"{name.removeprefix(LOWEST)} from {now[name]}, not {was[name]}" for name in higher]
    yield _comparison(LOWEST_VERSION, taken, where)


def _comparison(case: str, taken: Sequence[str], where: str) -> PatchComparison:
    return PatchComparison(
        case=case, held=not taken, detail=f"beside the {where}: {'; '.join(taken) or 'nothing less'}"
    )
