"""All that judges forgive, from the modules that declare it."""

from conformance.judging import excuses
from conformance.judging.excuses import Evidence
from conformance.judging.groups import evidence as evidence_of_groups
from conformance.judging.quorum import evidence as evidence_of_the_quorum

EVERY_EVIDENCE: tuple[Evidence, ...] = tuple(
    value
    for module in (excuses, evidence_of_groups, evidence_of_the_quorum)
    for value in vars(module).values()
    if isinstance(value, Evidence)
)
"""All values of these modules, in this order."""

LEFT_OUTS: frozenset[str] = frozenset(one.name for one in EVERY_EVIDENCE if one.kind == "left-out")
"""The names of left-outs, which are counted like excuses but reported separately."""
PRECONDITIONS: frozenset[str] = frozenset(one.name for one in EVERY_EVIDENCE if one.kind == "precondition")
"""The names of preconditions, which cover what the rows themselves exclude."""
