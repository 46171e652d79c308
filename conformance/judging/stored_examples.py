"""The judging of one stored example, in a task of Spark or in plain Python."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import TypeAlias

import msgspec

from conformance.judging.judge import JudgingResult
from history.deeds import deeds_behind
from history.events import History
from history.observations import Observation
from history.schema import WrongSchema
from history.shards import Column, ExcuseCount, Header
from history.store import group_examples, lines_of

Judging: TypeAlias = Callable[[History, Column], JudgingResult]
"""A function that judges a column's history with today's judges."""

ByLabel: TypeAlias = Mapping[str, Header]
"""The shards of one worker by column label. The worker's history file has examples of all of them."""


class JudgedExample(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one example, with the `deeds` behind each observation.

    `error` is the traceback of a judge that raised, or of an unreadable frame, which has no shard and is named by its place.
    `refused` names the frame's schema, if that is another, and the kit version that reads it.
    """

    shard: str = ""
    example: str = ""
    check: str = ""
    observations: list[Observation] = []
    deeds: list[list[str]] = []
    excuses: list[ExcuseCount] = []
    error: str = ""
    refused: str = ""


def place(path: PurePath, offset: int) -> str:
    """Return the place of a frame, in words: `<run>/<worker>.jsonl.zst at byte 0`."""
    return f"{path.parent.name}/{path.name} at byte {offset}"


def judge_frame(frame: bytes, place: str, shards: ByLabel, judge: Judging) -> Iterator[JudgedExample]:
    """Judge the example of a frame if it belongs to a column of `shards`. Errors are reported in `error`, never raised."""
    try:
        histories = list(group_examples(lines_of(frame)))
    except WrongSchema as error:
        yield JudgedExample(example=place, refused=f"{place}: {error}")
        return
    except Exception:  # any damage to one frame leaves the others usable
        yield JudgedExample(example=place, error=traceback.format_exc())
        return
    for history in histories:
        if (header := shards.get(history.example.column)) is not None:
            yield _judge(history, header, judge)


def _judge(history: History, header: Header, judge: Judging) -> JudgedExample:
    known = JudgedExample(shard=header.shard, example=history.example.example, check=history.example.check)
    try:
        found = judge(history, header.column)
        if found.raised:
            return msgspec.structs.replace(known, error="\n".join(map(str, found.raised)))
        deeds = [deeds_behind(history, seen) for seen in found.observations]
        return msgspec.structs.replace(known, observations=found.observations, deeds=deeds, excuses=found.excuses)
    except Exception:  # a judge's bug on one example must not lose the others
        return msgspec.structs.replace(known, error=traceback.format_exc())
