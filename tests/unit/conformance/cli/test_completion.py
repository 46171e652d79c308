"""Completion of lines, and each script in its own shell where this machine has it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.cli.app import COMMANDS, main
from history.command import COMPLETION

ROOT = Path(__file__).parents[4]
LINE = "matrix --requirement KIP101-INV-01"

DRIVEN = {
    "bash": """
        eval "$(./kit completion bash)"
        COMP_WORDS=(./kit matrix --requirement KIP101-INV-01); COMP_CWORD=3
        _kit_completion ./kit; printf '%s\\n' "${COMPREPLY[@]}"; complete -p kit
    """,
    "zsh": """
        compdef() { print -r -- "$@" }
        compadd() { print -rl -- "${plain[@]}" }
        _describe() { print -rl -- "${described[@]}" }
        eval "$(./kit completion zsh)"
        words=(./kit matrix --requirement KIP101-INV-01); CURRENT=4
        _kit_completion
    """,
    "fish": f"""
        ./kit completion fish | source
        complete -C './kit {LINE}'
    """,
}
"""For each shell a script that reads the kit's, and completes a line; zsh completes in its editor only, which is not here."""


def completed(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The words that the last one of a line may become, as bash is told."""
    words = line.split(" ")
    monkeypatch.setenv(COMPLETION, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"./kit {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("mat", ["plain,matrix"]),
        ("--v", ["plain,--version"]),
        ("matrix --requ", ["plain,--requirement"]),
        ("matrix --requirement kip101-inv-01", ["plain,KIP101-INV-01"]),
        ("matrix --profile ni", ["plain,nightly"]),
        ("matrix --kafka-version 4.3", ["plain,4.3.1"]),
        ("matrix --kafka-version 4.3.1 --kafka-home ", ["file,"]),
        ("pytest --requirement KIP101-INV-01", ["plain,KIP101-INV-01"]),
        ("pytest --kafka-v", ["plain,--kafka-version"]),
        ("rows KIP101-INV-01", ["plain,KIP101-INV-01"]),
        ("rows --level mu", ["plain,must"]),
        ("explain KIP101-INV-01", ["plain,KIP101-INV-01"]),
        ("bisect KIP101-INV-01", ["plain,KIP101-INV-01"]),
        ("bisect KIP101-INV-01 --kafka-version 3.9.2", ["plain,3.9.2"]),
        ("hunt --machine l", ["plain,log"]),
        ("faults --fault kil", ["plain,kill"]),
        ("storm --kafka-version rel", ["plain,released"]),
        ("mutants com", ["plain,compare"]),
        ("mutants build unfenced-leader", ["plain,unfenced-leader-epoch"]),
        ("completion z", ["plain,zsh"]),
    ],
)
def test_a_line_is_completed(
    line: str, some: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = completed(line, monkeypatch, capsys)
    assert set(some) <= set(found)
    assert all(one.split(",")[1].lower().startswith(line.split(" ")[-1].lower()) for one in found)


def test_all_commands_are_offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert completed("", monkeypatch, capsys) == [f"plain,{name}" for name in COMMANDS]


def test_what_a_command_chooses_itself_is_not_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "plain,--conformance-seed" in completed("matrix --conformance-", monkeypatch, capsys)
    assert "plain,--conformance-seed" not in completed("hunt --conformance-", monkeypatch, capsys)


@pytest.mark.parametrize("shell", DRIVEN)
def test_the_script_completes_the_checkouts_own_command(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not on this machine")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_CONFORMANCE_")}
    end = subprocess.run(
        [program, "-c", DRIVEN[shell]], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert "KIP101-INV-01" in end.stdout.splitlines(), end.stderr
    assert all(line.startswith("KIP101-INV-01") or "_kit_completion" in line for line in end.stdout.splitlines())
