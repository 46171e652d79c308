"""`diff` and `explain`, as a user calls them; and that neither needs Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from conformance.catalogue import shipped_rows
from reports import __main__ as entry
from reports import insights as insights_module
from reports.insights import Excused, Firsts, Insights, PremiseReach, Spent, TrendPoint, Wavering
from reports.matrix import Matrix, Pooled, encode_matrix
from reports.matrix_file import INSIGHTS, compared_matrix, read_compared
from tests.support.sample_matrix import ROW, all_cases, cell, checks, known_deviation, matrix, violation

ROOT = Path(__file__).parents[4]
OTHER = "KIP320-FETCH-01"
THIRD = "KIP320-FETCH-03"
OLD, NEW = "3.9.2", "4.3.1"


@pytest.fixture
def found() -> Matrix:
    """ROW is satisfied on the old column and violated on the new one, OTHER the other way round."""
    pooled = Pooled(
        cases=[
            *all_cases(OLD), *all_cases(NEW, violated=2), *all_cases(OLD, OTHER, violated=1), *all_cases(NEW, OTHER),
            *all_cases(OLD, THIRD), *all_cases(NEW, THIRD, held=1),
        ],
        checks=[checks(v, row) for v in (OLD, NEW) for row in (ROW, OTHER, THIRD)],
        violations=[violation(NEW, detail="was\x1b[31m answered NONE", times=2)],
        faults=[{"kafka_version": NEW, "requirement": ROW, "fault": "kill", "injected": 3, "witnessed": 2, "healed": 1}],
        replays=[{"kafka_version": NEW, "requirement": ROW, "seen": 2, "tries": 3}],
    )  # fmt: skip
    known = known_deviation(reason="Epochs\nare not compared.", ticket="KAFKA-1")
    return matrix(pooled, OLD, NEW, deviations=[known])


@pytest.fixture
def file(found: Matrix, tmp_path: Path) -> Path:
    """A run's folder with the matrix in its place, and evidence."""
    (tmp_path / "evidence").mkdir()
    path = tmp_path / "matrix" / "matrix.json"
    path.parent.mkdir()
    path.write_bytes(encode_matrix(found))
    return path


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines as they are: a worker's terminal is said to have 80 columns."""
    monkeypatch.setenv("COLUMNS", "200")


def _called(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[str]]:
    code = entry.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, (out or err).splitlines()


# diff


def test_diff_groups_rows_by_their_turn(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = _called(capsys, "diff", OLD, NEW, "--matrix", file)
    rows = len(shipped_rows())
    other = len([line for line in lines[lines.index("other") :] if line.startswith(("    KIP", "    GEN"))])
    assert code == 0
    assert lines[0] == f"{OLD} -> {NEW}: 0 worse, 0 new, 1 known, 1 better, {other} other, {rows - 2 - other} unchanged"
    known = lines[lines.index("known deviations") : lines.index("better")]
    assert known[1:4] == [
        "  ✓ satisfied -> ✗ violated",
        f"    {ROW}  {shipped_rows()[ROW].title}",
        "        8 observations break the row; case consumer: was [31m answered NONE",
    ]
    better = lines[lines.index("better") : lines.index("other")]
    assert better[1:3] == ["  ✗ violated -> ✓ satisfied", f"    {OTHER}  {shipped_rows()[OTHER].title}"]
    assert f"    {THIRD}  {shipped_rows()[THIRD].title}" in lines[lines.index("other") :]
    _, back = _called(capsys, "diff", NEW, OLD, "--matrix", file)
    assert back[0].startswith(f"{NEW} -> {OLD}: 1 worse, 0 new, 1 better, ")
    assert f"    {THIRD}  {shipped_rows()[THIRD].title}" in back[back.index("other") :]


def test_diff_fails_on_worse_only_when_asked_and_only_on_worse(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _called(capsys, "diff", NEW, OLD, "--matrix", file, "--fail-on-worse")[0] == 1
    assert _called(capsys, "diff", OLD, NEW, "--matrix", file, "--fail-on-worse")[0] == 0
    assert _called(capsys, "diff", NEW, NEW, "--matrix", file, "--fail-on-worse")[0] == 0
    code, lines = _called(capsys, "diff", NEW, NEW, "--matrix", file)
    assert (code, lines) == (0, [f"{NEW}: 0 worse, 0 new, 0 better, 0 other, {len(shipped_rows())} unchanged"])


def test_diff_of_two_files_compares_the_columns_they_share(
    file: Path, tmp_path: Path, found: Matrix, capsys: pytest.CaptureFixture[str]
) -> None:
    later = tmp_path / "later.json"
    green = Pooled(cases=all_cases(NEW), checks=[checks(NEW)])
    later.write_bytes(encode_matrix(matrix(green, NEW, "4.4.0")))
    code, lines = _called(capsys, "diff", file, later, "--fail-on-worse")
    assert code == 3
    assert "  too little was executed: 1 of the 3 rows that the baseline executed, the floor is 90%" in lines
    assert [line.split(":")[0] for line in lines if "unchanged" in line] == [NEW]
    assert "  ✗ violated -> ✓ satisfied" in lines
    assert cell(found, NEW).verdict == "violated"


def test_matrices_that_share_no_column_are_not_compared(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(encode_matrix(matrix(Pooled(), "4.5.0", "4.6.0")))
    code, lines = _called(capsys, "diff", file, elsewhere)
    assert code == 2
    assert "share no column: the old one has 3.9.2, 4.3.1, the new one 4.5.0, 4.6.0" in lines[0]


def test_diff_reads_what_a_kit_of_another_day_wrote(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    least = tmp_path / "least.json"
    cells = [{"requirement": ROW, "kafka_version": NEW, "verdict": "satisfied", "more": 1}]
    cells.append({"requirement": "KIP9-GONE-01", "kafka_version": NEW, "verdict": "violated"})
    least.write_bytes(msgspec.json.encode({"schema": 1, "kafka_versions": [NEW], "cells": cells}))
    code, lines = _called(capsys, "diff", least, file)
    assert code == 0
    assert "  ✗ violated -> (no cell)" in lines
    assert "    KIP9-GONE-01  (a row that this kit's catalogue does not have)" in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diff", "3.9.1", NEW], r"error: There is no column '3\.9\.1' in this matrix\. Near it: 3\.9\.2"),
        (["explain", "KIP320-FETCH-2"], r"error: No row of this matrix is named 'KIP320-FETCH-2'\. Near it: .*-FETCH-02"),
        (["explain", ROW.lower(), "--kafka-version", NEW], rf"Near it: {ROW}"),
        (["explain", ROW, "--kafka-version", "4.3"], r"There is no column '4\.3' in this matrix\. Near it: 4\.3\.1"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_with_what_is_near(
    file: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = _called(capsys, *arguments, "--matrix", file)
    assert code == 2
    assert re.search(message, lines[0])


@pytest.mark.parametrize("text", [None, "{", '{"schema": 7, "kafka_versions": [], "cells": []}', '{"cells": 1}'])
def test_a_file_that_is_no_matrix_is_refused_with_its_name(
    tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    if text is not None:
        broken.write_text(text)
    code, lines = _called(capsys, "diff", OLD, NEW, "--matrix", broken)
    assert code == 2
    assert lines[0].startswith(f"error: '{broken}'")


def test_a_matrix_compares_alike_from_memory_and_from_its_file(found: Matrix, file: Path) -> None:
    assert read_compared(file) == compared_matrix(found)


# explain


def _section(lines: list[str], title: str) -> list[str]:
    start = lines.index(title) + 1
    end = next((place for place in range(start, len(lines)) if not lines[place]), len(lines))
    return lines[start:end]


def test_explain_tells_what_a_red_cell_rests_on(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent.parent)
    code, lines = _called(capsys, "explain", ROW, "--kafka-version", NEW, "--matrix", file)
    assert code == 0
    assert lines[0] == f"{ROW} on {NEW}: ✗ violated"
    asks = " ".join(" ".join(_section(lines, "What it asks")).split())
    assert " ".join(shipped_rows()[ROW].statement.split()) in asks
    assert "Source: KIP-320, Proposed Changes / Leader Fetch Handling; level must, P1, judged as a probe" in asks
    why = " ".join(" ".join(_section(lines, "Why it is so")).split())
    assert "8 observations break the row; seen again in 2 of 3 replays" in why
    assert (
        "Known deviation of 4.3 and later (https://issues.apache.org/jira/browse/KAFKA-1): Epochs are not compared."
        in why
    )
    rests = _section(lines, "What it rests on")
    assert "  Case consumer (replica id -1): 5 held, 2 violated; 3 distinct inputs, 5 examples" in rests
    assert "  Floor of each case: 5 held, 3 distinct inputs, 1 examples" in rests
    assert "  Checks: 1 of 1 ran, 0 in trouble of the kit" in rests
    assert "  Fault kill: 2 witnessed of 3 injected, 1 healed" in rests
    assert _section(lines, "Violations") == [
        "  Case consumer, seen 2 times by c: was [31m answered NONE",
        "      report: evidence/x/1/report.md",
        "      events 1, 2 of example e in histories/r/w.jsonl.zst",
    ]
    assert _section(lines, "Over the versions") == [f"  ✓ satisfied: {OLD}", f"  ✗ violated: {NEW}"]
    assert _section(lines, "See for yourself") == [
        "  Run what saw it again:",
        f"      ./kit pytest --kafka-version {NEW} --requirement {ROW} --all-that-see-it -k 'c['",
        "  Replay a violation, step by step:",
        f"      ./kit pytest --kafka-version {NEW} --replay evidence/x/1/schedule.json",
    ]


def test_explain_takes_in_what_else_is_known(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = f"check-{ROW}"
    cell_of = {"requirement": ROW, "kafka_version": NEW}
    known = Insights(
        firsts=[Firsts(requirement=ROW, bad=[NEW], good=[OLD], first_bad=NEW, last_good=OLD, first_good="")],
        wavering=[Wavering(**cell_of, check=check, case="hint", inputs='{"i":1}', tries=6, violated=1, answers={"NONE": 5})],
        premises=[
            PremiseReach(kafka_version=NEW, check=check, premise="epoch was bumped", met=3, unmet=4),
            PremiseReach(kafka_version=OLD, check=check, premise="elsewhere", met=0, unmet=4),
            PremiseReach(kafka_version=NEW, check=check, premise="never missed", met=4, unmet=0),
        ],
        excused=[
            Excused(requirement=row, kafka_version=label, check=check, case="consumer", held=1, violated=0, excused={why: 3})
            for row, label, why in ((ROW, NEW, "open outcome"), (ROW, OLD, "elsewhere"), (OTHER, NEW, "elsewhere"))
        ],
        spent=[Spent(kafka_version=NEW, check=check, examples=7, seconds=12.4, outcomes={"done": 1})],
        trend=[
            TrendPoint(**of, run_date="2026-11-20", run="r0", verdict="satisfied", observations=9, violations=0)
            for of in (cell_of, cell_of | {"kafka_version": OLD}, cell_of | {"requirement": OTHER})
        ],
    )  # fmt: skip
    file.with_name(INSIGHTS).write_bytes(insights_module.encode_insights(known))
    _, lines = _called(capsys, "explain", ROW, "--matrix", file)
    assert f"    {check}: 7 examples in 12 s" in lines
    assert "      premise 'epoch was bumped': met 3, not met 4" in lines
    assert f"    left undecided 3 times by {check}: open outcome" in lines
    assert not [line for line in lines if "elsewhere" in line or "never missed" in line]
    assert '  Wavers in case hint for {"i":1}: of 6 identical tries 1 violated, NONE 5 times' in lines
    sentence = f"  First bad release: {NEW} (good until {OLD}); no later release is known to be good"
    assert sentence in _section(lines, "Over the versions")
    assert _section(lines, "Over the runs") == ["  2026-11-20 r0: ✓ satisfied, 9 observations, 0 violations"]


def test_explain_takes_globs_and_tells_of_cells_that_nothing_was_seen_of(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = _called(capsys, "explain", "KIP320-FETCH-0[123]", "--kafka-version", OLD, "--matrix", file)
    heads = [line for line in lines if f" on {OLD}: " in line]
    assert code == 0
    assert heads == [f"{OTHER} on {OLD}: ✗ violated", f"{ROW} on {OLD}: ✓ satisfied", f"{THIRD} on {OLD}: ✓ satisfied"]
    _, lines = _called(capsys, "explain", "*", "--kafka-version", NEW, "--matrix", file)
    assert len([line for line in lines if f" on {NEW}: " in line]) == len(shipped_rows())


def test_explain_runs_a_users_image_again_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label = f"{NEW}@mine:1 x"
    pooled = Pooled(cases=all_cases(label, violated=1), checks=[checks(label)], violations=[violation(label)])
    path = tmp_path / "m.json"
    path.write_bytes(encode_matrix(matrix(pooled, NEW, label=label)))
    _, lines = _called(capsys, "explain", ROW, "--kafka-version", label, "--matrix", path)
    commands = _section(lines, "See for yourself")
    assert f"      ./kit pytest --kafka-image 'kafka:{label}' --requirement {ROW} --all-that-see-it -k 'c['" in commands
    assert commands[-1] == "  Paths are relative to the run's --conformance-out."


# The entry


def test_diff_and_explain_start_no_spark_and_stop_when_nobody_reads(file: Path) -> None:
    script = (
        "import sys; from reports.__main__ import main; sys.exit(main(sys.argv[1:]) or 7 * ('pyspark' in sys.modules))"
    )
    for arguments in (["diff", OLD, NEW], ["explain", ROW, "--kafka-version", NEW]):
        command = [sys.executable, "-c", script, *arguments, "--matrix", str(file)]
        assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
    reader = subprocess.Popen(
        [sys.executable, "-m", "reports", "explain", "*", "--kafka-version", NEW, "--matrix", str(file)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert reader.stdout is not None
    assert reader.stderr is not None
    reader.stdout.readline()
    reader.stdout.close()
    assert reader.stderr.read() == b""
    reader.stderr.close()
    assert reader.wait() == 0
