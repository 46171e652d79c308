"""A question at rest has one answer: in a batch as singly (GEN-04), and in every offered version (GEN-05)."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from conformance.judging.data_in_words import drop_empty_parts, words_of_data
from conformance.judging.excuses import CHANGED_MEANWHILE, SWEEP_DISTURBED
from conformance.judging.facts.apis import CASES, Plain
from conformance.judging.facts.exchange import NONE
from conformance.judging.judge import Claim, Excuse, Finding, Judge
from conformance.judging.laws.sweeps import OF_GROUPS, ItemAnswer, SweepAtRest, sweeps
from protocol.codes import Error
from protocol.since import since
from protocol.words import shorten

BY_ID_FROM = {
    "fetch_many": since("FetchRequest", "TopicId"),
    "offset_fetch": since("OffsetFetchRequest", "TopicId"),
}
"""The versions from which topics are named by id."""
FOLLOWERS_SERVE_FROM = since("FetchRequest", "RackId")
ZSTD = 4
"""The codec of a batch that is compressed with zstd."""
ZSTD_FROM = since("Fetch", "zstd")
ZSTD_REFUSED = int(Error.UNSUPPORTED_COMPRESSION_TYPE)
UNKNOWN_GROUPS_FROM = since("DescribeGroups", "GROUP_ID_NOT_FOUND")
NOTHING_COMMITTED: Plain = {"error_code": NONE, "committed_offset": -1, "committed_leader_epoch": -1, "metadata": ""}
TOPIC_TYPE = 2

WRONG_BROKER, UNKNOWN = "wrong-broker", "unknown"
"""Cases of GEN-05 besides one for each API."""
OF_PARTITIONS = frozenset(
    ("list_offsets_many", "fetch_many", "offset_for_leader_epoch_many", "describe_producers_many")
)
OF_TOPICS = frozenset(("metadata", "describe_topic_partitions"))
REFUSED: dict[str, frozenset[int]] = {
    "list_offsets_many": frozenset({Error.NOT_LEADER_OR_FOLLOWER}),
    "fetch_many": frozenset({Error.NOT_LEADER_OR_FOLLOWER}),
    "offset_for_leader_epoch_many": frozenset({Error.NOT_LEADER_OR_FOLLOWER}),
    "offset_fetch": frozenset({Error.NOT_COORDINATOR}),
    "describe_groups": frozenset({Error.NOT_COORDINATOR}),
    # A cluster without the consumer protocol answers so, whichever broker is asked (KIP-848).
    "consumer_group_describe_many": frozenset({Error.NOT_COORDINATOR, Error.UNSUPPORTED_VERSION}),
}
"""The errors with which a wrong broker refuses each operation. Any replica answers DescribeProducers."""
BY_NAME, BY_ID = frozenset({Error.UNKNOWN_TOPIC_OR_PARTITION}), frozenset({Error.UNKNOWN_TOPIC_ID})

# --- GEN-04: together is as one by one


def _batch_answers_equal_single_ones(sweep: SweepAtRest | None) -> Iterator[Claim]:
    """An item that is requested alone is answered as in a batch of the same version."""
    if sweep is None:
        yield Excuse(SWEEP_DISTURBED, "metadata")
        return
    for question, answers in sweep.by_question.items():
        batched = {one.version: one for one in answers if one.several}
        for single in (one for one in answers if not one.several and one.version in batched):
            if question in sweep.references:
                yield _compare_single(single, batched[single.version])
            else:
                yield Excuse(CHANGED_MEANWHILE, CASES[single.op])


def _compare_single(single: ItemAnswer, batched: ItemAnswer) -> Finding:
    wrong = (
        ""
        if _agree(single.value, batched.value, single.limit)
        else _describe_difference(single, batched, batched.value)
    )
    return Finding(not wrong, CASES[single.op], (batched.event, single.event), wrong, "differs-in-batch")


together_is_as_one_by_one = Judge("GEN-04", sweeps, _batch_answers_equal_single_ones)


# --- GEN-05: every offered version says the same


def _every_version_answers_the_same(sweep: SweepAtRest | None) -> Iterator[Claim]:
    """An answer in a lower version says the same as one in the highest version, and a refusal has the right error."""
    if sweep is None:
        yield Excuse(SWEEP_DISTURBED, "metadata")
        return
    compared = [one for answers in sweep.by_question.values() for one in _representatives(answers)]
    compared.sort(key=attrgetter("event"))
    for _, items in groupby(compared, key=attrgetter("event")):
        yield from _findings_of_answer(sweep, [*items])


every_version_says_the_same = Judge("GEN-05", sweeps, _every_version_answers_the_same)


def _representatives(answers: Sequence[ItemAnswer]) -> Iterator[ItemAnswer]:
    """Yield the batched answer of each version, or the single ones where its requests hold one item."""
    batched = {one.version: one for one in answers if one.several}
    yield from batched.values()
    yield from (one for one in answers if not one.several and one.version not in batched)


class Compared(NamedTuple):
    """An item of an answer compared with its answer in the highest version; `wrong` is empty if the two agree."""

    one: ItemAnswer
    best: ItemAnswer
    role: str
    wrong: str


def _findings_of_answer(sweep: SweepAtRest, items: Sequence[ItemAnswer]) -> Iterator[Claim]:
    """Yield a finding for the API, unless the answer is in the highest version, and one for each role of its items."""
    case = CASES[items[0].op]
    compared = [_compare(sweep, one, best) for one in items if (best := sweep.references.get(one.question))]
    changed = [one for one in items if one.question not in sweep.references and _has_versions(sweep, one)]
    yield from [Excuse(CHANGED_MEANWHILE, case)] * len(changed)
    if any(one.version != best.version for one, best, _, _ in compared):
        yield _finding(case, compared)
    for role in (WRONG_BROKER, UNKNOWN):
        if own := [each for each in compared if each.role == role]:
            yield _finding(role, own)


def _has_versions(sweep: SweepAtRest, one: ItemAnswer) -> bool:
    """True if the item was requested in several versions. An API with one version has nothing to compare."""
    return len({each.version for each in sweep.by_question[one.question]}) > 1


def _finding(case: str, compared: Sequence[Compared]) -> Finding:
    worst = next((each for each in compared if each.wrong), compared[0])
    return Finding(not worst.wrong, case, (worst.best.event, worst.one.event), worst.wrong, "differs-by-version")


def _compare(sweep: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> Compared:
    return Compared(one, best, _role(sweep, one), _describe_wrong(sweep, one, best) or _wrong_error(sweep, one, best))


def _describe_wrong(sweep: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> str:
    expected = [*_right_answers(sweep, one, best)]
    found = one.shared_fields(best)
    return (
        "" if any(_agree(found, each, one.limit) for each in expected) else _describe_difference(one, best, expected[0])
    )


def _wrong_error(sweep: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> str:
    kinds = _kinds(sweep, one)
    if not kinds or one.error in kinds or (one.error == ZSTD_REFUSED and _may_refuse_zstd(sweep, one, best)):
        return ""
    expected = " or ".join(map(_error_name, sorted(kinds)))
    return f"{one} about {_item_name(one)}, answered {_error_name(one.error)} where {expected} was due"


def _right_answers(sweep: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> Iterator[Plain]:
    """Yield the right answers in this version: the one of the highest version, or the one from before a KIP changed it."""
    shared = best.shared_fields(one)
    if one.op in CHANGED and (changed := CHANGED[one.op](sweep, one, best)) is not None:
        shared = changed
    yield shared
    if _may_refuse_zstd(sweep, one, best):
        yield {"error_code": ZSTD_REFUSED}


def _changed_fetch(sweep: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> Plain | None:
    """Return the answer of a version from before topic ids (KIP-516) or from before followers served consumers (KIP-392)."""
    if one.version < BY_ID_FROM[one.op] and best.error == Error.UNKNOWN_TOPIC_ID:
        return {"error_code": int(Error.UNKNOWN_TOPIC_OR_PARTITION)}
    crosses = one.version < FOLLOWERS_SERVE_FROM <= best.version
    if crosses and best.error in SERVED and _role(sweep, one) == WRONG_BROKER:
        return {"error_code": int(Error.NOT_LEADER_OR_FOLLOWER)}
    return None


def _changed_offset_fetch(_: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> Plain | None:
    """Return the answer of a version that names topics by name: it may show offsets of a missing topic (KIP-848)."""
    if one.version >= BY_ID_FROM[one.op] or best.error != Error.UNKNOWN_TOPIC_ID:
        return None
    return {name: NOTHING_COMMITTED[name] for name in one.shared_fields(best)}


def _changed_groups(_: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> Plain | None:
    """Return the answer before KIP-1043: a group that does not exist was Dead."""
    if one.version >= UNKNOWN_GROUPS_FROM or best.error != Error.GROUP_ID_NOT_FOUND:
        return None
    return {**one.value, "error_code": NONE, "group_state": "Dead", "members": []}


SERVED = frozenset({NONE, Error.OFFSET_OUT_OF_RANGE})
"""The error codes, NONE included, of a replica that serves a Fetch."""
CHANGED: dict[str, Callable[[SweepAtRest, ItemAnswer, ItemAnswer], Plain | None]] = {
    "fetch_many": _changed_fetch,
    "offset_fetch": _changed_offset_fetch,
    "describe_groups": _changed_groups,
}
"""Functions that return the right answer of a version older than a KIP's change, by operation; None if the KIP changes nothing.
"""


def _may_refuse_zstd(sweep: SweepAtRest, one: ItemAnswer, best: ItemAnswer) -> bool:
    """True for a Fetch of a zstd topic in a version without it (KIP-110). Any broker may answer so at once."""
    codecs = {batch["codec"] for batch in best.value.get("batches", ())}
    holds = ZSTD in codecs or best.item[0] in sweep.zstd_topics
    return one.op == "fetch_many" and one.version < ZSTD_FROM and holds


# --- roles


def _role(sweep: SweepAtRest, one: ItemAnswer) -> str:
    """Return the case of an answer: its item is unknown, or the broker is not the item's leader or coordinator; else empty."""
    if one.op in OF_PARTITIONS:
        leader = sweep.leaders.get((one.item[0], one.item[1]))
        return UNKNOWN if leader is None else _wrong_broker_unless(leader == sweep.id_of(one))
    if one.op in OF_TOPICS or (one.op == "describe_configs_many" and one.item[1] == TOPIC_TYPE):
        return "" if one.item[0] in {topic for topic, _ in sweep.leaders} else UNKNOWN
    if one.op == "describe_configs_many":
        return _wrong_broker_unless(one.item[0] == str(sweep.id_of(one)))
    if one.op in OF_GROUPS and one.group in sweep.coordinators:
        return _wrong_broker_unless(sweep.coordinators[one.group] == sweep.id_of(one))
    return ""


def _wrong_broker_unless(right: bool) -> str:
    return "" if right else WRONG_BROKER


def _kinds(sweep: SweepAtRest, one: ItemAnswer) -> frozenset[int]:
    """Return the errors that this answer may have, if it must be an error; else nothing."""
    role = _role(sweep, one)
    if role == WRONG_BROKER:
        serves = one.op == "fetch_many" and one.version >= FOLLOWERS_SERVE_FROM
        return REFUSED.get(one.op, frozenset()) | (SERVED if serves else frozenset())
    if role != UNKNOWN:
        return frozenset()
    by_id = one.version >= BY_ID_FROM.get(one.op, one.version + 1)
    return BY_ID if by_id and one.item[0] not in {topic for topic, _ in sweep.leaders} else BY_NAME


# --- comparing


def _agree(one: Plain, other: Plain, limit: int) -> bool:
    """True if two answers are equal, apart from batches that the byte limit of a Fetch cut off."""
    if {**one, "batches": ()} != {**other, "batches": ()}:
        return False
    shorter, longer = sorted((one.get("batches", ()), other.get("batches", ())), key=len)
    if [*longer[: len(shorter)]] != [*shorter]:
        return False
    return len(shorter) == len(longer) or sum(batch["size"] for batch in longer[: len(shorter) + 1]) > limit


def _describe_difference(one: ItemAnswer, other: ItemAnswer, expected: Plain) -> str:
    """Return the differences of an answer from the other one, which is shown first."""
    names = [name for name in {**one.value, **expected} if one.value.get(name) != expected.get(name)]
    mine, theirs = ({name: value.get(name) for name in names} for value in (one.value, expected))
    how = "in a batch" if one.version == other.version else f"in v{other.version}"
    return f"{one} about {_item_name(one)}, answered {_text(mine)}, and {how} {_text(theirs)}"


def _error_name(code: int) -> str:
    return Error(code).name


def _item_name(one: ItemAnswer) -> str:
    return "-".join(map(str, one.item))


def _text(value: object) -> str:
    return shorten(words_of_data(drop_empty_parts(value)) or "nothing", 100)


__all__ = ["UNKNOWN", "WRONG_BROKER", "every_version_says_the_same", "together_is_as_one_by_one"]
