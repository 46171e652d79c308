"""Evidence of a made-up violation, written by the kit's own writer, for a cluster that exists only as data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.core.topologies import QUICK_CLUSTER
from conformance.running.evidence import on_disk as stored
from conformance.running.evidence.folder import ReplayResult, add_replays, write_evidence
from conformance.running.standing import Standing
from fixtures.cluster import Topology
from fixtures.errors import EngineTrouble
from fixtures.wire.transcript import TranscriptEntry
from history.events import Call, End, History, Note
from history.observations import Observation
from history.shards import Column
from history.steps import STEP_NOTE
from protocol.codes import Error
from tests.support.fake_cluster import standing_on
from tests.support.histories import TOPIC, LogHistory, stamped
from tests.support.sample_matrix import ROW

COLUMN = Column(
    label="4.3.1", version="4.3.1", image="kafka:4.3.1", image_id="sha256:1", selection=["--kafka-version", "4.3.1"]
)
PARTITION = f"{TOPIC.name}-0"
DISKS = {
    "broker-1": {f"{PARTITION}/leader-epoch-checkpoint": b"0\n1\n3 0\n", f"{PARTITION}/{0:020d}.log": b""},
    "broker-2": {"replication-offset-checkpoint": b"0\n0\n"},
}
"""The files that were copied from the brokers' disks."""


class FakeNode:
    def __init__(self, name: str, broker: bool, log: str = "", trouble: bool = False) -> None:
        self.name = name
        self.member = next(m for m in Topology(name="t", controllers=1, brokers=3).members() if m.is_broker == broker)
        self._log = log or f"log of {name}"
        self._trouble = trouble

    def logs(self, since: float) -> str:
        if self._trouble:
            raise EngineTrouble("the engine has no such container\nmore")
        return self._log


class FakeTranscript:
    forgotten_ns = 0

    def __init__(self, *entries: TranscriptEntry) -> None:
        self._entries = entries

    def entries(self, since_ns: int = 0) -> list[TranscriptEntry]:
        return [entry for entry in self._entries if entry.time_ns >= since_ns]


class FakeCluster:
    """A cluster with given frames and logs; by default there are two frames, a hundred and five seconds old, and a log
    line per node."""

    def __init__(
        self, trouble: bool = False, entries: list[TranscriptEntry] | None = None, logs: Mapping[str, str] = {}
    ) -> None:
        self.topology = QUICK_CLUSTER
        names = {"controller-101": False, "broker-1": True, "broker-2": True}
        self.nodes = {
            name: FakeNode(name, broker, logs.get(name, ""), trouble and name == "broker-1")
            for name, broker in names.items()
        }
        old = [_entry(time.time() - ago, "sent") for ago in (100, 5)]
        self.transcript = FakeTranscript(*(old if entries is None else entries))


def _entry(
    at: float, direction: Any, api: str = "Fetch", node: str = "broker-1", number: int = 1, **fields: Any
) -> TranscriptEntry:
    return TranscriptEntry(int(at * 1e9), node, direction, api, 12, number, "00ff", fields)


def step(history: LogHistory, kind: str, **parameters: Any) -> None:
    n, t = len(history.events), len(history.events) / 100
    history.events.append(Note(n=n, t=t, text=STEP_NOTE, data={"kind": kind, "step": {"do": kind, **parameters}}))


def zombie() -> LogHistory:
    """Cut off a leader; its successor takes over in epoch 4, then answers a request with epoch 3."""
    history = LogHistory()
    step(history, "produce", on="strict-0", acks=-1)
    history.settled(leader=1, epoch=3).produce(1, "a", "b", at=0)
    step(history, "disturb", on="strict-0", fault={"fault": "cut-off-from-controllers", "role": "leader"})
    history.hit("cut-off-from-controllers", 1, partition=PARTITION, verdict="drop").settled(leader=2, epoch=4)
    step(history, "read", on="strict-0", epochs_back=1)
    history.refused(1, 4, Error.UNKNOWN_LEADER_EPOCH).fetch_lost(1, epoch=3)
    history.fetch(2, stamped(3, 0, "a", "<img src=x onerror=alert(1)>"), epoch=3, hw=2)
    step(history, "heal")
    return history.heal("cut-off-from-controllers", 1).all_healed().at_rest()


def shown_by(history: LogHistory) -> list[int]:
    """Return the events that show the leader and the answer that should have been an error."""
    fetches = [e.n for e in history.events if isinstance(e, Call) and e.op == "fetch"]
    return [fetches[-1] + 1]


def standing_of(cluster: FakeCluster) -> Standing:
    return standing_on(cluster, COLUMN)


def write_zombie(
    run: Path, detail: str = "broker-2 answered a fetch at epoch 3, which it had passed"
) -> tuple[str, list[int]]:
    """Write an evidence folder of ROW on 4.3.1; return its path relative to `run`, and the events that show the
    violation."""
    story = zombie()
    history = History(example=story.example, events=story.events, end=End(example="e-1", outcome="judged"))
    events = shown_by(story)
    seen = Observation(
        requirement=ROW, case="consumer", result="violated", example="e-1", events=events, detail=detail, label="fence-leak"
    )  # fmt: skip
    began = time.time() - 10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            stored,
            "copy_log_dirs",
            lambda nodes, *partitions: {n.name: DISKS[n.name] for n in nodes if n.name in DISKS},
        )
        cluster = FakeCluster(entries=_frames(history, began), logs=_logs(began))
        path = write_evidence(run, standing_of(cluster), history, seen, 10.0, [])
    add_replays(run / path, ReplayResult(seen=4, tries=5, note="9 steps shrunk to 4."))
    return path, events


def _frames(history: History, began: float) -> list[TranscriptEntry]:
    """Return a frame for each request and each answer."""
    frames = []
    for number, (call, answer) in enumerate(history.answered_calls()):
        api, node = call.op.title().replace("_", ""), call.node
        frames.append(_entry(began + call.t + 0.0004, "sent", api, node, number, asked=call.op))
        if answer.outcome == "ok":
            frames.append(_entry(began + answer.t - 0.0004, "received", api, node, number, error_code=0))
    return frames


def _logs(began: float) -> dict[str, str]:
    def line(seconds: float, text: str) -> str:
        at = time.gmtime(began + seconds)
        return f"[{time.strftime('%Y-%m-%d %H:%M:%S', at)},000] INFO [Partition {PARTITION} broker=2] {text}"

    return {
        "broker-2": "\n".join(
            [line(0, "starts at leader epoch 4"), line(-9, "long before"), line(1, "<script>boo()</script>")]
        )
    }
