"""All judges. Each one looks at every history that has what it needs, whichever check wrote it."""

from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType

from conformance.catalogue import shipped_rows
from conformance.judging import due
from conformance.judging.facts import DECODERS
from conformance.judging.groups import answers as answers_to_members
from conformance.judging.groups import balance, clients, epochs, moves, owners
from conformance.judging.groups import log as logs_of_groups
from conformance.judging.groups import offsets as offsets_of_groups
from conformance.judging.judge import Judge
from conformance.judging.laws import answers, fields, groups, same_answers
from conformance.judging.log import (
    committed_offsets,
    consumer_reads,
    convergence,
    delete_records,
    disks,
    elections,
    fetch_positions,
    former_errors,
    in_sync_replicas,
    isolation,
    late_copies,
    leader_epochs,
    log_start_moves,
    offsets,
    read_bounds,
    readers,
    reassignments,
    records,
    refused_commits,
    registered_elections,
    truncation,
    written_records,
)
from conformance.judging.log import fields as fields_of_partitions
from conformance.judging.producers import answers as answers_to_producers
from conformance.judging.producers import decided_offsets, fencing, identities, outcomes, refusals
from conformance.judging.producers import records as records_of_producers
from conformance.judging.quorum import (
    broker_views,
    gauges,
    high_watermark,
    leaders,
    log_epochs,
    log_leaders,
    log_matching,
    lost_contact,
    members,
    served_log,
    votes,
    writes,
)
from conformance.judging.timeline import Timeline
from conformance.judging.topics import judges as administration
from conformance.judging.topics import late_copies as late_deletions
from history.events import Example
from history.subjects import Kind

MODULES = (
    records,
    truncation,
    leader_epochs,
    offsets,
    in_sync_replicas,
    convergence,
    consumer_reads,
    fetch_positions,
    delete_records,
    committed_offsets,
    readers,
    elections,
    registered_elections,
    disks,
    isolation,
    reassignments,
    late_copies,
    fields_of_partitions,
    log_start_moves,
    written_records,
    read_bounds,
    refused_commits,
    former_errors,
    records_of_producers,
    fencing,
    outcomes,
    decided_offsets,
    identities,
    refusals,
    answers_to_producers,
    administration,
    late_deletions,
    answers,
    same_answers,
    fields,
    groups,
    owners,
    answers_to_members,
    epochs,
    offsets_of_groups,
    logs_of_groups,
    clients,
    balance,
    moves,
    high_watermark,
    leaders,
    votes,
    members,
    served_log,
    log_matching,
    log_leaders,
    log_epochs,
    writes,
    lost_contact,
    broker_views,
    gauges,
    due,
)
"""The modules whose judges make up `JUDGES`, in this order."""


def _judges_in(module: ModuleType) -> Iterator[Judge]:
    for value in vars(module).values():
        if isinstance(value, Judge):
            yield value
        elif isinstance(value, tuple):
            yield from (one for one in value if isinstance(one, Judge))


def problem_of(judge: Judge) -> str:
    """Return why a judge cannot be used; empty if it can."""
    if judge.row not in shipped_rows():
        return f"the catalogue has no row {judge.row}"
    looks = judge.at if isinstance(judge.at, tuple) else (judge.at,)
    if not looks or not all(callable(look) for look in looks):
        return "it does not declare what it looks at: a story, several of them, or a function of the history"
    stories = [look for look in looks if isinstance(look, type)]
    kinds_of_facts = {kind for entries in DECODERS.values() for entry in entries for kind in entry.about}
    if strange := [story.__name__ for story in stories if getattr(story, "kind", None) not in kinds_of_facts]:
        return f"it needs a {strange[0]}, but no fact is about a subject of that kind"
    empty = [story("", Timeline(Example(example="", check="", column=""), [])) for story in stories]
    if lacking := [name for name in judge.needs if not any(hasattr(story, name) for story in empty)]:
        return f"it needs {lacking[0]}, which no story has that it looks at"
    return ""


def check_usable(judges: Sequence[Judge]) -> tuple[Judge, ...]:
    """Return the judges. Raises ValueError with the name of a judge that cannot be used or is listed twice."""
    for judge in judges:
        if wrong := problem_of(judge):
            raise ValueError(f"judge {judge}: {wrong}")
    names = [str(judge) for judge in judges]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"judge {twice[0]} is there twice")
    return tuple(judges)


JUDGES = check_usable([judge for module in MODULES for judge in _judges_in(module)])


@cache
def rows_about(*kinds: Kind) -> tuple[str, ...]:
    """Return the rows of the judges whose subjects are of one of these kinds."""
    return tuple(dict.fromkeys(judge.row for judge in JUDGES if judge.about in kinds))
