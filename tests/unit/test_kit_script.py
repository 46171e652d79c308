"""`./kit`, the script: how it ends where its environment can't be made. The interpreter is a script of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from history.command import COMPLETION

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
case "$1 $2" in
"-m venv") [ -n "$NO_VENV" ] && exit 1
  mkdir -p .venv/bin
  printf '#!/bin/sh\\n%s\\nexit %s\\n' 'echo "$@" > pip.txt' "$PIP" > .venv/bin/pip
  printf '#!/bin/sh\\necho "$@"; exit 7\\n' > .venv/bin/python
  chmod +x .venv/bin/* ;;
"-c import sys"*) exit "$TOO_OLD" ;;
esac
"""


class Checkout:
    """A folder with the script, and the programs that it finds first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._programs = folder / "programs"
        self._programs.mkdir()
        for name in ("kit", "requirements.lock"):
            shutil.copy(ROOT / name, folder / name)
        self._program("python3", PYTHON)
        self._program("apt-get", "#!/bin/sh\nexit 100\n")

    def _program(self, name: str, text: str) -> None:
        path = self._programs / name
        path.write_text(text)
        path.chmod(0o755)

    def __call__(self, *words: str, pip: int = 0, too_old: int = 0, no_venv: str = "") -> tuple[int, str]:
        given = {"PIP": str(pip), "TOO_OLD": str(too_old), "NO_VENV": no_venv}
        path = f"{self._programs}{os.pathsep}{os.environ['PATH']}"
        ended = subprocess.run(
            [self.folder / "kit", *words],
            env=os.environ | given | {"PATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_it_makes_the_environment_once_and_passes_words_and_code_on(checkout: Checkout) -> None:
    assert checkout("rows", "a b") == (7, "making the environment .venv\n-m conformance rows a b\n")
    assert checkout("rows") == (7, "-m conformance rows\n")


def test_packages_that_can_not_be_installed_are_trouble_and_tried_again(checkout: Checkout) -> None:
    code, text = checkout("rows", pip=1)
    assert (code, "pip could not install what requirements.lock names" in text) == (3, True)
    assert checkout("rows")[0] == 7


def test_no_release_of_today_decides_what_is_installed(checkout: Checkout) -> None:
    """Pip resolves nothing: it takes what the lock file names, and only that."""
    checkout("rows")
    words = (checkout.folder / "pip.txt").read_text().split()
    assert {"--no-deps", "--require-hashes"} <= set(words)


def test_a_shell_that_completes_a_line_makes_no_environment(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COMPLETION, "bash_complete")
    assert checkout() == (3, "")
    assert not (checkout.folder / ".venv").exists()


def test_an_old_python_is_trouble(checkout: Checkout) -> None:
    code, text = checkout("rows", too_old=1)
    assert (code, "is too old: the kit needs Python 3.11" in text) == (3, True)


def test_without_venv_it_says_what_is_missing(checkout: Checkout) -> None:
    """Root installs it, which fails here."""
    code, text = checkout("rows", no_venv="yes")
    assert (code, "python3 -m venv does not work here" in text) == (3, True)
