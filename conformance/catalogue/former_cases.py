"""Former cases of checks: a history keeps the case and inputs under which it was recorded.

A drawn input may have become a case of its own since. A recorded example is judged again under the case that it belongs to today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Inputs: TypeAlias = Mapping[str, Any]
Named: TypeAlias = tuple[str, Inputs]
"""A case and the inputs that are drawn for it."""


def _drawn(name: str, cases: Mapping[str, Mapping[Any, str]]) -> Callable[[str, Inputs], Named]:
    """By the input of this name, which is no longer drawn, a former case is one of several; other cases stay as they are."""

    def named(case: str, inputs: Inputs) -> Named:
        if name not in inputs:
            return case, inputs
        rest = {other: value for other, value in inputs.items() if other != name}
        return cases[case][inputs[name]] if case in cases else case, rest

    return named


REQUESTS = {"AddPartitionsToTxn": "add-partitions", "AddOffsetsToTxn": "add-offsets", "EndTxn": "end-txn"}


def _of_a_request(case: str, inputs: Inputs) -> Named:
    """The request, and which of the two ids is wrong, have become the case."""
    if case != "foreign-id":
        return case, inputs
    of = "unknown" if inputs["unknown"] else "foreign"
    rest = {name: value for name, value in inputs.items() if name not in ("request", "unknown")}
    return f"{of}-{REQUESTS[inputs['request']]}", rest


def _on_a_side(case: str, inputs: Inputs) -> Named:
    """A signed distance from an epoch that was left out has become a case and the distance on that side."""
    if case != "other-epoch":
        return case, inputs
    distance = inputs["distance"]
    if distance < 0:
        return "older-epoch", {**inputs, "distance": -distance}
    return "newer-epoch", {**inputs, "distance": distance + 1}


def _at_zero(case: str, inputs: Inputs) -> Named:
    return ("tv2-zero" if case == "tv2" and inputs["sequence"] == 0 else case), inputs


FORMER: dict[str, Callable[[str, Inputs], Named]] = {
    "kip360.init_producer_id_fencing.wrong_id_or_epoch_is_fenced": _drawn(
        "wrong", {"v3": {kind: f"v3-{kind}" for kind in ("older-epoch", "newer-epoch", "foreign-id")}}
    ),
    "kip360.replaced_producers.old_epoch_is_refused_by_the_coordinator": _drawn(
        "any_request", {"old-versions": {api: f"old-{request}" for api, request in REQUESTS.items()}}
    ),
    "kip360.replaced_producers.foreign_ids_are_refused_by_the_coordinator": _of_a_request,
    "kip360.sequences.unknown_producer_is_admitted": _at_zero,
    "kip1251.commits_by_non_members.no_member_id_in_a_group_without_members": _drawn(
        "emptied", {"simple-group": {False: "unknown-group", True: "emptied-group"}}
    ),
    "kip1251.offset_fetch.other_epoch": _on_a_side,
}
"""By check, as it is called today. Entries are only ever added."""


def current_case(check: str, case: str, inputs: Inputs) -> Named:
    """Today's case and inputs of a recorded example; `check` is the check's id today."""
    return FORMER[check](case, inputs) if check in FORMER else (case, inputs)
