from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest

from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import EpochAndOffset
from protocol.words import say, say_error
from tests.support.structures import structures


class Stored(msgspec.Struct):
    leader: int
    voted: int = -1
    names: tuple[str, ...] = ()


class Pair(NamedTuple):
    offset: int
    values: tuple[bytes, ...]


METADATA = PartitionMetadata(
    error=Error.NONE, partition=0, leader=2, leader_epoch=5, replicas=(2, 1, 3), isr=(2,), offline=()
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing"),
        (True, "yes"),
        (1.5, "1.5"),
        (b"a 1", "'a 1'"),
        (b"\x00\x01", "2 bytes"),
        (Error.FENCED_LEADER_EPOCH, "FENCED_LEADER_EPOCH"),
        (EpochAndOffset(5, 7), "epoch 5, end offset 7"),
        ((EpochAndOffset(5, 7), EpochAndOffset(5, 7)), "(epoch 5, end offset 7) (2 times)"),
        (METADATA, "leader 2 at epoch 5, partition 0, replicas [2, 1, 3], ISR [2]"),
        (msgspec.structs.replace(METADATA, error=Error(-1)), "UNKNOWN_SERVER_ERROR (-1), leader 2 at epoch 5, "),
        (Stored(1), "leader 1"),
        (Stored(-1), "nothing"),
        (Pair(3, (b"a", b"b")), "offset 3, values 'a', 'b'"),
        ([], "none"),
        ({2, 1}, "1, 2"),
        ((2,), "2"),
        ({"a-0": [], "b-0": None}, "a-0: none, b-0: nothing"),
        (range(50), "range"),
        ([*range(50)], "38, 39, and 10 more"),
        (KeyError("x"), "'x'"),
    ],
)  # fmt: skip
def test_a_value_is_said_in_words(value: object, words: str) -> None:
    assert words in say(value)
    assert structures(say(value)) == []


def test_an_answer_says_itself_also_inside_of_a_sentence() -> None:
    assert f"{METADATA}" == str(METADATA) == say(METADATA)
    assert f"{Error.FENCED_LEADER_EPOCH} {Error.FENCED_LEADER_EPOCH:d}" == "FENCED_LEADER_EPOCH 74"


def test_an_error_has_its_name_and_number() -> None:
    assert [say_error(0), say_error(74), say_error(999)] == [
        "no error",
        "FENCED_LEADER_EPOCH (74)",
        "UNLISTED_999 (999)",
    ]


def test_the_text_of_a_structure_is_recognised() -> None:
    texts = [
        repr(METADATA),
        repr(Error.NONE),
        "case='a'",
        "(2,), then ()",
        "frozenset({1})",
        "[('a', 1)]",
        "{'a': 1}",
        "True",
    ]
    assert all(map(structures, texts))
    assert structures("broker-1, leader at epoch 4, answered [0-2 of epoch 0: 'a' 'b'] (2 times); ISR [1, 2]") == []
