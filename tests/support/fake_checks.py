"""Checks of one row on a cluster in memory, whose rig prepares nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Check, Rig
from tests.support.fake_cluster import TOPOLOGY

ROW = "KIP320-FETCH-02"


class Data(msgspec.Struct):
    pass


def prepared(_: Bench) -> Data:
    return Data()


def handle(bench: Bench, _: Data) -> Bench:
    return bench


RIG: Rig[Data, Bench] = Rig(TOPOLOGY, prepared, handle)
TOPIC: Any = None


def check_of(body: Any, rig: Rig[Data, Bench] = RIG, examples: int = 1) -> Check:
    return Check(own_rows=(ROW,), rig=rig, cases=("consumer",), examples=examples, body=body)
