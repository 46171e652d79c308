"""The tables of APIs, compared with the client that records their answers and with the schemas of any release at hand."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import msgspec
import pytest

from conformance.catalogue import shipped_rows
from conformance.catalogue.floors import floor_of
from conformance.judging.facts.apis import API_OF, BATCHES, DUPLICATES, PARTS, SEVERAL, case_of
from protocol.codes import Error
from protocol.operations import OPERATIONS
from tests.support.release_jars import jars_at_hand

COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
SENT_ONLY = {"broker_registrations", "park_fetch", "park_produce", "reception"}
"""Operations without an error code: a log read by many requests, a request in flight, and whether there is an answer."""
NO_ITEMS = {
    "ConsumerGroupHeartbeat": "what a member subscribes to and owns; the answer is about the member",
    "DescribeLogDirs": "a filter: only what is there is answered",
    "JoinGroup": "what a member supports; the answer is about the group",
    "ListPartitionReassignments": "all are asked for, by null",
    "ListTransactions": "filters",
    "StreamsGroupHeartbeat": "a topology and tasks; the answer is about the member",
    "SyncGroup": "assignments, which go to the members",
}
"""APIs whose request has a list that is not answered item by item, and what the list holds."""


def operations() -> dict[str, type[msgspec.Struct]]:
    """The typed calls of the client, with the types of their answers."""
    return {op: kind.answer for op, kind in OPERATIONS.items()}


def codes(kind: type[msgspec.Struct], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths to the structs with an error code."""
    for field in msgspec.structs.fields(kind):
        inner = [
            one for one in typing.get_args(field.type) if isinstance(one, type) and issubclass(one, msgspec.Struct)
        ]
        if field.type is Error and field.encode_name == "error_code":
            yield path
        for one in inner:
            yield from codes(one, (*path, field.encode_name))


def test_every_call_whose_answer_has_an_error_code_is_in_the_table() -> None:
    assert {name for name, kind in operations().items() if [*codes(kind)]} == API_OF.keys()
    assert operations().keys() - API_OF.keys() == SENT_ONLY


@pytest.mark.parametrize("op", sorted(API_OF))
def test_no_error_code_of_an_answer_is_left_out(op: str) -> None:
    """A field of another name is the error of the whole answer, repeated."""
    assert {path for path in codes(operations()[op]) if path} == set(PARTS.get(op, ()))
    others = {field.encode_name for field in msgspec.structs.fields(operations()[op]) if field.type is Error}
    assert others <= {"error_code", "top_level_error"}


@pytest.mark.parametrize("op", sorted(BATCHES))
def test_items_are_named_by_fields_that_are_recorded(op: str) -> None:
    asked, answered = BATCHES[op]
    kind: Any = operations()[op]
    if answered.field:
        kind = typing.get_args(typing.get_type_hints(kind)[answered.field])[0]
    assert {str(name) for name in answered.by} <= {field.encode_name for field in msgspec.structs.fields(kind)}
    taken = {
        field.encode_name for field in msgspec.structs.fields(OPERATIONS["park_fetch" if op == "parked_fetch" else op])
    }
    single = () if asked.field else map(str, asked.by)
    assert {asked.field, *single} - {""} <= taken
    assert len(asked.by or " ") == len(answered.by)


def lists(fields: list[dict[str, Any]]) -> Iterator[str]:
    for field in fields:
        if field["type"].startswith("[]"):
            yield field["name"]
        yield from lists(field.get("fields", []))


@pytest.mark.jars
@pytest.mark.parametrize("jar", jars_at_hand(), ids=lambda jar: jar.name)
def test_every_list_in_a_request_has_items_or_is_named_with_its_reason(jar: Path) -> None:
    with_lists = set()
    with ZipFile(jar) as archive:
        for api in set(API_OF.values()):
            name = f"common/message/{api}Request.json"
            if name in archive.namelist():
                schema = json.loads(COMMENT.sub("", archive.read(name).decode()))
                with_lists |= {api} if [*lists(schema["fields"])] else set()
    batches = {API_OF[op] for op in BATCHES}
    assert with_lists <= batches | NO_ITEMS.keys()
    assert not batches & NO_ITEMS.keys()


def test_the_rows_have_a_case_for_each_api() -> None:
    batches = {case_of(API_OF[op]) for op in BATCHES}
    assert {case.id for case in shipped_rows()["GEN-03"].cases} == batches | {DUPLICATES, SEVERAL}
    assert {case.id for case in shipped_rows()["GEN-12"].cases} == {case_of(api) for api in API_OF.values()}
    assert {floor_of(shipped_rows()[row]).observations for row in ("GEN-03", "GEN-12")} == {5}
