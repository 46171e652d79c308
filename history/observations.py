"""The observation of one instance in which a row's premise was seen to hold."""

from __future__ import annotations

from typing import Literal

import msgspec

Result = Literal["held", "violated", "recorded"]


class Observation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One instance of one case of a requirement.

    `inputs` is the canonical text of the drawn inputs (floors count distinct ones); `events` are the numbers of the
    events that show it; `label` is the name of an anomaly (`divergent-prefix`); `variant` names which of several legal
    answers was seen, so that a probe that wavers between them is recognised.
    """

    requirement: str
    case: str
    result: Result
    example: str
    inputs: str = ""
    events: list[int] = []
    detail: str = ""
    label: str = ""
    variant: str = ""
