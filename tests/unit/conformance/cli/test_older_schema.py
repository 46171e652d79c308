"""Files of an older schema at every door: one sentence with their schema and the kit that reads it, and exit code 2."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from conformance.campaign.hunt.rounds import FAILING
from conformance.campaign.hunt.state import HUNT, Hunt
from conformance.campaign.plan import PLAN, Plan
from conformance.cli.app import main
from conformance.running.evidence.folder import Schedule
from conformance.running.machine.beginning import Beginning, read_beginning
from history.schema import WrongSchema
from tests.support.fake_hunt_run import column_of
from tests.support.older_schema import age_histories, aged
from tests.support.sample_run import MACHINE, write_run
from tests.support.sample_shards import ShardBuilder


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No options from the environment, and an engine that must not be asked."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the engine was asked")

    for name in [name for name in os.environ if name.startswith("KAFKA_CONFORMANCE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("docker.from_env", refuse)
    monkeypatch.setattr("docker.DockerClient", refuse)


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def old_shard(out: Path) -> None:
    write(out / "shards" / "s1.jsonl", aged(b"".join(ShardBuilder("s1").finish().text())))


def old_histories(out: Path) -> None:
    age_histories(write_run(out))


def old_plan(out: Path) -> None:
    write(out / PLAN, aged(msgspec.json.encode(Plan(options=[], seed=1, columns=[]))))


def old_hunt(out: Path) -> None:
    write(out / HUNT, aged(msgspec.json.encode(Hunt(seed=1))))


def schedule() -> bytes:
    return aged(msgspec.json.encode(Schedule(check=MACHINE, column=column_of("4.3.1"), requirement="KIP101-INV-01")))


def old_schedule_of_a_hunt(out: Path) -> None:
    write(out / HUNT, msgspec.json.encode(Hunt(seed=1)))
    write(out / FAILING / "one.json", schedule())


DOORS: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "rejudge, shards": (old_shard, ["rejudge", "--out", "{out}"]),
    "rejudge, histories": (old_histories, ["rejudge", "--out", "{out}"]),
    "matrix, plan": (old_plan, ["matrix", "--kafka-version", "4.3.1", "--conformance-out", "{out}"]),
    "hunt, state": (old_hunt, ["hunt", "--hours", "1", "--kafka-version", "4.3.1", "--out", "{out}"]),
    "hunt, schedules": (old_schedule_of_a_hunt, ["hunt", "--hours", "1", "--kafka-version", "4.3.1", "--out", "{out}"]),
}


@pytest.mark.parametrize("door", DOORS)
def test_each_door_refuses_it(door: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    prepare, arguments = DOORS[door]
    prepare(tmp_path)
    code = main([word.format(out=tmp_path) for word in arguments])
    text = "".join(capfd.readouterr())
    assert code == 2, text
    assert "Traceback" not in text
    assert len(re.findall(r"is of schema 1, which an unreleased kit .* reads; this kit reads schema 2\.", text)) == 1, (
        text
    )


def test_the_beginning_of_a_round_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "beginning.json", aged(msgspec.json.encode(Beginning())))
    with pytest.raises(WrongSchema, match="is of schema 1"):
        read_beginning(tmp_path / "beginning.json")
