"""Operations to typed facts: a module or two for each kind of subject, and one table of their decoders."""

from conformance.judging.facts import apis, groups, log, log_answers, quorum, reassignments, topics, transactions
from conformance.judging.facts.exchange import DECODERS, Attributed, Decoding, Exchange, decoders_of, decodes

__all__ = [
    "DECODERS",
    "Attributed",
    "Decoding",
    "Exchange",
    "apis",
    "decoders_of",
    "decodes",
    "groups",
    "log",
    "log_answers",
    "quorum",
    "reassignments",
    "topics",
    "transactions",
]
