"""The scripts of the findings stand alone, and say what is missing."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import load_deviations
from reports.track_record import load_findings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/findings"
SCRIPTS = sorted(FOLDER.glob("*/reproduce.py"))
HELPERS = sorted(FOLDER.glob("*.py"))
ALLOWED = {"kafka", *(path.stem for path in HELPERS)}


def named(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(FOLDER)) for path in paths]


def imported(path: Path) -> set[str]:
    """The first names of what a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", [*SCRIPTS, *HELPERS], ids=named([*SCRIPTS, *HELPERS]))
def test_a_script_takes_nothing_but_kafka_python(path: Path) -> None:
    assert imported(path) - set(sys.stdlib_module_names) <= ALLOWED


@pytest.mark.parametrize("path", SCRIPTS, ids=named(SCRIPTS))
def test_a_script_fits_in_the_head(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 150


@pytest.mark.parametrize("path", SCRIPTS, ids=named(SCRIPTS))
def test_a_script_says_that_docker_is_missing(path: Path, tmp_path: Path) -> None:
    words = [sys.executable, str(path), "--image", "apache/kafka:4.3.1"]
    done = subprocess.run(words, env=os.environ | {"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "there is no `docker` on this machine" in done.stdout


def test_each_open_finding_without_a_ticket_has_a_script_and_a_ticket_to_file() -> None:
    catalogue = shipped_rows()
    findings = load_findings(ROOT, catalogue, load_deviations(catalogue))
    wanted = {one.name for one in findings if one.is_open and not one.ticket}
    files = [f"{name}/{file}" for name in sorted(wanted) for file in ("reproduce.py", "ticket.md")]
    assert [file for file in files if not (FOLDER / file).is_file()] == []


@pytest.mark.parametrize(
    ("cores", "jars", "said"),
    [("1", "", "Docker has one core"), ("2", "bash.jar", "any:1 is no image of Kafka: it has no kafka-clients jar")],
)
def test_a_script_says_what_is_wrong_with_docker_or_image(cores: str, jars: str, said: str, tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\ncase "$1" in info) echo {cores} ;; run) echo {jars} ;; esac\n')
    docker.chmod(0o755)
    words = [sys.executable, str(SCRIPTS[0]), "--image", "any:1"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(words, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert said in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("exit 3, not tried, after ")
