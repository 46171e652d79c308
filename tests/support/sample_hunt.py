"""Samples of a hunt: violations that its rounds see, and its state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.campaign.hunt.findings import HuntFinding, RecordedViolation, Sighting
from conformance.campaign.hunt.state import Hunt, Night, Round
from conformance.running.evidence.folder import Schedule
from tests.support.fake_hunt_run import CASES, CHECK, ROW, FakeRun, column_of, parser, steps


def seen(
    number: int = 1, version: str = "3.9.2", *, schedule: list[dict[str, Any]] | None = None, **sighting: Any
) -> RecordedViolation:
    """Return a violation of ROW in round `number`, seen in 4 of 5 replays."""
    facts: dict[str, Any] = {"case": CASES[ROW], "seen": 4, "tries": 5} | sighting
    return RecordedViolation(
        row=ROW,
        label="fence-leak",
        detail="epoch 3 was fenced",
        schedule=Schedule(check=CHECK, column=column_of(version), requirement=ROW, steps=schedule or steps(number)),
        sighting=Sighting(
            round=number, column=version, label=version, version=version, seed=100 + number, example=f"e{number}",
            evidence=f"rounds/{number:03}/evidence/{ROW}/e{number}", **facts,
        ),
    )  # fmt: skip


def found(number: int = 1, version: str = "3.9.2", **sighting: Any) -> HuntFinding:
    return HuntFinding.of(seen(number, version, **sighting))


def hunt_of(*columns: str, findings: list[HuntFinding] | None = None, **fields: Any) -> Hunt:
    """Return a hunt with a round on each of these columns, in one night."""
    rounds = [
        Round(
            number=n, night=0, column=column, selection=["--kafka-version", column], options=[], seed=100 + n, minutes=6.0,
            opening=n == 1, ended=True, **fields,
        )
        for n, column in enumerate(columns, start=1)
    ]  # fmt: skip
    return Hunt(seed=100, nights=[Night(began=0.0, hours=8.0, seconds=90.0)], rounds=rounds, findings=findings or [])


def write_round(folder: Path, *words: str) -> None:
    """Write the output of a round `r1` on 4.3.1, as FAKE_HUNT would say it."""
    given = ["--kafka-version", "4.3.1", "--conformance-run", "r1", "--conformance-out", str(folder)]
    run = FakeRun(parser().parse_args(given), list(words))
    run.round()
    run.close()
