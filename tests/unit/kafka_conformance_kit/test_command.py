"""The installed command, without an installation."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conformance.cli import checks
from kafka_conformance_kit.command import KIT, environment, main

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_in_a_checkout_it_names_the_command_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 2
    assert "in a checkout it is ./kit" in capsys.readouterr().err


def test_its_packages_come_before_a_users_and_a_users_options_last() -> None:
    found = environment("/their/own", "-k 'one or two'")
    assert found["PYTHONPATH"] == f"{KIT}:/their/own"
    words = shlex.split(found["PYTEST_ADDOPTS"])
    assert words[:2] == ["-c", str(KIT / "pyproject.toml")]
    assert words[-2:] == ["-k", "one or two"]
    assert environment("", "")["PYTHONPATH"] == str(KIT)


def test_a_check_is_named_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = "conformance/kip320/fencing.py"
    assert checks.absolute(f"{own}::one") == f"{ROOT / own}::one"
    assert checks.absolute("conformance/nothing.py") == "conformance/nothing.py"
    assert checks.absolute("--requirement") == "--requirement"
    (tmp_path / "conformance" / "kip320").mkdir(parents=True)
    (tmp_path / own).touch()
    assert checks.absolute(own) == own


def test_every_package_is_in_the_wheel() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"kafka_conformance_kit", "tests"}
    assert packages - set(included) == set()


def locked() -> dict[str, str]:
    """The versions that the lock file names for this platform."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pinned = [Requirement(line.rstrip(" \\")) for line in lines if line[:1].isalnum()]
    here = [one for one in pinned if one.marker is None or one.marker.evaluate()]
    return {canonicalize_name(one.name): next(iter(one.specifier)).version for one in here}


def test_the_lock_file_has_what_the_project_asks_for() -> None:
    versions = locked()
    extras = PROJECT["project"]["optional-dependencies"].values()
    for wanted in map(
        Requirement, [*PROJECT["project"]["dependencies"], *(text for texts in extras for text in texts)]
    ):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted
        assert any(each.operator == "<" for each in wanted.specifier), f"{wanted} has no upper bound"


def needed(name: str, extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """Yields the requirements of a package that is installed here, and of its dependencies in turn."""
    for text in distribution(name).requires or ():
        wanted = Requirement(text)
        environments = [{"extra": extra} for extra in (*extras, "")]
        if wanted.marker is None or any(map(wanted.marker.evaluate, environments)):
            yield wanted
            yield from needed(wanted.name, wanted.extras)


def test_the_lock_file_is_complete() -> None:
    """`./kit` installs it with --no-deps."""
    versions = locked()
    for name in versions:
        for wanted in needed(name):
            assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), (name, str(wanted))
