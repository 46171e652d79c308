"""The table of known deviations."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.catalogue.deviations import load_deviations
from conformance.core.checks import import_checks
from fixtures.faults.catalogue import FAULTS
from strategies.steps import Step


def _write(folder: Path, text: str) -> Path:
    path = folder / "known.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_table_names_rows_and_versions() -> None:
    deviations = load_deviations(shipped_rows())
    assert {entry.requirement for entry in deviations} >= {"KIP320-LO-04", "KIP360-INIT-10", "KIP595-LEAD-01"}
    assert all(entry.reason for entry in deviations)


def _steps(kind: type[Step] = Step) -> Iterator[str]:
    for one in kind.__subclasses__():
        yield str(one.__struct_config__.tag)
        yield from _steps(one)


def test_the_shipped_table_names_steps_faults_and_roles() -> None:
    import_checks()
    faults = {str(kind.__struct_config__.tag) for kind in FAULTS}
    roles = {role for kind in FAULTS for role in kind.roles}
    words = {word for entry in load_deviations(shipped_rows()) for word in entry.takes}
    assert "active controller" in words
    assert words <= {*_steps(), *faults, *roles}


def test_an_entry_covers_the_patches_of_its_minors() -> None:
    (late,) = [entry for entry in load_deviations(shipped_rows()) if entry.requirement == "KIP320-LO-04"]
    assert late.covers("KIP320-LO-04", "3.7.2")
    assert not late.covers("KIP320-LO-04", "3.8.0")
    assert not late.covers("KIP320-LO-03", "3.7.2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[deviation]\n", "known.toml"),
        ('[[deviation]]\nrequirement = "KIP1-X-01"\nversions = ["3.3.."]\nreason = "r"\n', "no row of the catalogue"),
        ('[[deviation]]\nrequirement = "KIP320-LO-04"\nversions = []\nreason = "r"\n', "names no versions"),
        ('[[deviation]]\nrequirement = "KIP320-LO-04"\nversions = ["3.3"]\nreason = "r"\n', "not a version range"),
        (
            '[[deviation]]\nrequirement = "KIP320-LO-04"\nversions = ["3.3.."]\nreason = "r"\ncases = ["gone"]\n',
            "KIP320-LO-04 has no case gone; its cases are",
        ),
        ('[[deviation]]\nrequirement = "KIP320-LO-04"\nversion = "3.3"\nreason = "r"\n', "unknown field"),
    ],
)
def test_a_broken_entry_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        load_deviations(shipped_rows(), _write(tmp_path, text))
