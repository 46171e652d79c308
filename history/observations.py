"""The observation of one instance in which a row's premise held."""

from typing import Literal

import msgspec

Result = Literal["held", "violated", "recorded"]


KEEPS, KEEPS_NOT = "keeps", "does not keep"
"""The variants recorded for a row of level `later`: whether the promise of a later KIP is kept."""


class Observation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One instance of one case of a requirement.

    `inputs` is the canonical text of the drawn inputs (floors count distinct ones); `events` are the numbers of the
    events that show it; `label` is the name of an anomaly (`divergent-prefix`); `variant` is the legal answer that was
    seen of several, so that a probe that wavers between them is recognised. `lived` names the witnessed faults that had by
    then changed its subjects: the leader or ISR, a coordinator, the quorum's leader. `calm` is true if no fault was witnessed
    in its example, except for what a scenario observes for its own row; in other examples `situation` is the same for
    observations of one subject by the same nodes between the same changes.
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
    lived: list[str] = []
    calm: bool = False
    situation: str = ""
