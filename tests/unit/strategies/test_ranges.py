"""Strategies of single numbers: drawn values stay in their ranges."""

from __future__ import annotations

from functools import partial
from operator import eq

import pytest
from hypothesis import find, given, settings
from hypothesis.strategies import DataObject, SearchStrategy, data

from protocol.records import Codec
from strategies.inputs import (
    CODECS,
    CONTROLLERS,
    EPOCH_BUMPS,
    EPOCHS_AHEAD,
    EPOCHS_BACK,
    FEW_RECORDS,
    NEAR_EPOCHS_AHEAD,
    OFFSETS,
    RECORDS,
)

RANGES = {
    "records": (RECORDS, 1, 4),
    "few records": (FEW_RECORDS, 1, 3),
    "epochs back": (EPOCHS_BACK, 1, 3),
    "epochs ahead": (EPOCHS_AHEAD, 1, 1000),
    "near epochs ahead": (NEAR_EPOCHS_AHEAD, 1, 5),
    "epoch bumps": (EPOCH_BUMPS, 0, 3),
    "offsets": (OFFSETS, 1, 2**40),
    "controllers": (CONTROLLERS, 0, 2),
}


@pytest.mark.parametrize(("strategy", "least", "most"), RANGES.values(), ids=RANGES)
@settings(max_examples=20)
@given(drawing=data())
def test_drawn_numbers_stay_in_their_range(
    strategy: SearchStrategy[int], least: int, most: int, drawing: DataObject
) -> None:
    assert least <= drawing.draw(strategy) <= most


@pytest.mark.parametrize("name", ["records", "few records", "epochs back", "epoch bumps", "controllers"])
def test_each_number_of_a_small_range_is_drawn(name: str) -> None:
    strategy, least, most = RANGES[name]
    every = [*range(least, most + 1)]
    assert [find(strategy, partial(eq, wanted)) for wanted in every] == every


def test_batches_are_also_compressed() -> None:
    every = [Codec.NONE, Codec.GZIP, Codec.ZSTD]
    assert [find(CODECS, partial(eq, wanted)) for wanted in every] == every


@given(CODECS)
def test_codecs_that_need_a_further_library_are_not_drawn(codec: Codec) -> None:
    assert codec not in (Codec.SNAPPY, Codec.LZ4)
