"""The pages of a hunt: a finding's report stands alone, and the index has them all with totals."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.campaign.hunt.findings import Replays
from conformance.campaign.hunt.pages import FoundEvidence, index_of, replay_of_finding, report_of
from conformance.campaign.hunt.totals import Totals, totals_of, was_unhealed
from conformance.catalogue import shipped_rows
from conformance.catalogue.notice import what_a_user_notices
from conformance.core.machines import all_machines
from conformance.running.evidence.folder import NOT_KNOWN
from conformance.running.evidence.report import wrap_text
from history.shards import read_shards
from tests.support.fake_hunt_run import CHECK, ROW
from tests.support.sample_evidence import write_zombie
from tests.support.sample_hunt import found, hunt_of, seen, write_round

PROMISED = shipped_rows()[ROW]
SOURCE = f"({PROMISED.family}, {PROMISED.section}; level {PROMISED.level})"
QUOTED = "\n".join(wrap_text(f"{PROMISED.statement.strip()} {SOURCE}", "> ", "> "))
EXPECTED = f"""\
# {ROW}: {PROMISED.title} (fence-leak)

epoch 3 was fenced

Case: consumer. Check: {CHECK}.

**Not known**: no entry of `known-deviations.toml` is about this row, these versions and this schedule.

{QUOTED}

## What a user would notice

Records are lost.

## The shrunk schedule

1. disturb, on strict-0, fault (kill, role leader, pick 1)
2. produce, on strict-0, records 2

"""
SEEN = """\
## What happened

```
-> 1.0 s broker-1
```

## Where it was seen

| Kafka | seen in | replays where it was found | replays on a fresh cluster |
|---|---|---|---|
| 3.9.2 | round 1 (seed 101), round 3 (seed 103) | 4 of 5 | 3 of 5 replays |
| 4.3.1 | round 2 (seed 102) | not shrunk | none yet |
| 3.7.2 | no round |  | 0 of 4 replays (1 more in trouble) |

## Since when

- first bad: 3.9.2 (3.7.2 is good)

## How to see it again

    ./kit pytest

## Everything else

- [logs](evidence/logs)
- [report.md](evidence/report.md)
"""
NOTHING = FoundEvidence([], [], "")


def test_a_report_stands_alone() -> None:
    all_machines()  # they explain their steps
    finding = found(1)
    finding.add_sighting(seen(2, "4.3.1", seen=0, tries=0))
    finding.add_sighting(seen(3))
    finding.replays = {"3.9.2": Replays(seen=3, tries=5), "3.7.2": Replays(seen=0, tries=4, trouble=1)}
    evidence = FoundEvidence(["logs", "report.md"], ["Records are lost."], "```\n-> 1.0 s broker-1\n```")
    text = report_of(finding, "./kit pytest", ["first bad: 3.9.2 (3.7.2 is good)"], evidence)
    assert text.startswith(EXPECTED)
    assert text.endswith(SEEN)
    assert "The steps:\n\n- disturb: A fault around the subject" in text


def test_a_report_names_what_it_lacks() -> None:
    text = report_of(found(1, seen=0, tries=0), "", [], NOTHING)
    assert "The releases were not searched." in text
    assert "## The schedule, which could not be shrunk" in text


def test_a_finding_is_told_by_its_evidence(tmp_path: Path) -> None:
    path, _ = write_zombie(tmp_path)
    evidence = FoundEvidence.read(tmp_path / path, ROW)
    assert {"report.md", "course.md", "violation.json"} <= set(evidence.files)
    assert NOT_KNOWN in evidence.notices
    assert "\n->" in evidence.happened
    assert "##" not in evidence.happened
    text = report_of(found(), "./kit", [], evidence)
    assert evidence.happened in text
    (tmp_path / path / "violation.json").unlink()
    assert FoundEvidence.read(tmp_path / path, ROW).notices == what_a_user_notices(ROW, [])


@pytest.mark.parametrize("known", ["KAFKA-18106", "KAFKA-18106."])
def test_a_known_deviation_is_told_with_its_ticket(known: str) -> None:
    finding = found(1, known=known)
    assert "**Known**: KAFKA-18106. This schedule may still show another bug" in report_of(finding, "", [], NOTHING)
    finding.add_sighting(seen(2, "4.3.1"))
    assert "**Known on some versions** (KAFKA-18106), not known on 4.3.1." in report_of(finding, "", [], NOTHING)


def test_the_command_replays_on_the_column_with_its_options() -> None:
    hunt = hunt_of("3.9.2")
    hunt.rounds[0].options = ["--feature", "transaction.version=1"]
    command = replay_of_finding(hunt, found(1), Path("out/a b/schedule.json"))
    own = "--kafka-version 3.9.2 --feature transaction.version=1"
    assert command == f"./kit pytest {own} --replay 'out/a b/schedule.json'"


def test_the_index_links_findings_and_sightings() -> None:
    new, known = found(1), found(2, schedule=[{"do": "heal"}], known="KAFKA-1")
    text = index_of(hunt_of("3.9.2", "3.9.2", findings=[new, known]))
    unknown, _, rest = text.partition("## Known findings")
    assert f"[{new.name}](findings/{new.name}/report.md)" in unknown
    assert f"3.9.2: [round 1](rounds/001/evidence/{ROW}/e1) seed 101" in unknown
    assert f"[{known.name}]" in rest
    assert "KAFKA-1 |" in rest


def test_a_hunt_without_findings_says_so() -> None:
    assert index_of(hunt_of()).count("None.") == 2


def test_totals_are_counted_and_added(tmp_path: Path) -> None:
    write_round(tmp_path)
    one = totals_of(read_shards(tmp_path / "shards"), "r1")
    assert (one.examples, one.count, one.judged_examples, one.steps, one.unhealed) == (
        {"judged": 1, "error": 1},
        2,
        1,
        8,
        1,
    )
    assert (one.injected, one.witnessed, one.errors) == ({"kill": 6}, {"kill": 4}, {"KitError: no listener": 1})
    both = one + one
    assert (both.count, both.witnessed, both.excuses) == (4, {"kill": 8}, {f"{ROW} c: a reason": 4})
    assert one + Totals() == one


@pytest.mark.parametrize(
    ("detail", "unhealed"),
    [
        ("the cluster was replaced: Overdue: broker-2 is fenced", True),
        ("KitError: no listener\nthe cluster was replaced: KitError: broker-2 ended", True),
        ("the cluster was replaced: OutOfTime: time was up while waiting: the cluster is whole", False),
        ("OutOfTime: time was up while waiting: at rest", False),
        ("", False),
    ],
)
def test_a_cluster_that_had_no_time_to_heal_is_not_called_unhealed(detail: str, unhealed: bool) -> None:
    assert was_unhealed(detail) is unhealed
