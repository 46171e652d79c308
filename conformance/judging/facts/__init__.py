"""Operations to typed facts: a module or two for each kind of subject, and one table of their decoders."""

from conformance.judging.facts import (
    apis,
    descriptions,
    gauges,
    group_log,
    groups,
    log,
    log_answers,
    memberships,
    metadata_log,
    quorum,
    reassignments,
    topics,
    transactions,
)
from conformance.judging.facts.exchange import DECODERS, Attributed, Decoding, Exchange, decoders_of, decodes

__all__ = [
    "DECODERS",
    "Attributed",
    "Decoding",
    "Exchange",
    "apis",
    "decoders_of",
    "decodes",
    "descriptions",
    "gauges",
    "group_log",
    "groups",
    "log",
    "log_answers",
    "memberships",
    "metadata_log",
    "quorum",
    "reassignments",
    "topics",
    "transactions",
]
