"""A small site with a violation: three versions, one of them broken, and the evidence beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from conformance.catalogue import shipped_rows
from reports.insights import Coverage, FaultMet, FaultReach, Firsts, Insights, PremiseReach, Spent
from reports.matrix import Matrix, Pooled
from reports.site import write_site
from tests.support.sample_evidence import write_zombie
from tests.support.sample_matrix import ROW, all_cases, checks, known_deviation, matrix, violation

VERSIONS = ("3.9.2", "4.3.1", "4.4.0")
BAD = "4.3.1"
FAULT = "cut-off-from-controllers"


class Sample(msgspec.Struct):
    """The results of a merge that `write_site` needs."""

    matrix: Matrix
    insights: Insights


def build(run: Path) -> Path:
    """Write evidence below `run` and the site in `run/matrix`; return the site's folder."""
    path, events = write_zombie(run)
    merged: Any = Sample(matrix=_matrix(path, events), insights=_insights())
    return write_site(merged, shipped_rows(), run / "matrix", run).parent


def _matrix(path: str, events: list[int]) -> Matrix:
    fields = {
        "label": "fence-leak",
        "detail": "broker-2 answered a fetch at epoch 3, which it had passed",
        "check": "zombies",
    }
    key = {"kafka_version": BAD, "requirement": ROW}
    pooled = Pooled(
        cases=[line for v in VERSIONS for line in all_cases(v, violated=2 if v == BAD else 0)],
        checks=[checks(version) for version in VERSIONS],
        violations=[violation(BAD, **fields, evidence=path, events=events, example="e-1", times=2)],
        paths=[key | {"path": path, "place": 1}],
        replays=[key | {"seen": 4, "tries": 5}],
        faults=[key | {"fault": FAULT, "injected": 5, "witnessed": 5, "healed": 5}],
    )
    known = known_deviation(versions=("4.3..4.3",), reason="An example.", ticket="KAFKA-1")
    return matrix(pooled, *VERSIONS, deviations=[known])


def _insights() -> Insights:
    reach = {FAULT: FaultReach(injected=5, witnessed=5, healed=5)}
    return Insights(
        firsts=[
            Firsts(
                requirement=ROW, bad=[BAD], good=["3.9.2", "4.4.0"], first_bad=BAD, last_good="3.9.2", first_good="4.4.0"
            )
        ],
        coverage=[Coverage(requirement=ROW, kafka_version=BAD, examples=9, cases_reached=2, cases=2, faults=reach)],
        faults_met=[FaultMet(kafka_version=BAD, fault=FAULT, examples=5, injected=5, witnessed=5, healed=5)],
        premises=[PremiseReach(kafka_version=BAD, check="zombies", premise="a zombie", met=5, unmet=0)],
        spent=[Spent(kafka_version=BAD, check="zombies", examples=9, seconds=12.0, outcomes={"done": 1})],
    )  # fmt: skip
