"""How every command ends: an error that was not foreseen is trouble, and never the code of a violation."""

from __future__ import annotations

import click
import pytest

from conformance.cli.group import run
from fixtures.errors import WrongUse
from protocol.errors import KitError
from reports.commands.ending import exit_code


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (WrongUse("no such row"), 2, "no such row\n"),
        (KitError("no engine"), 3, "no engine\n"),
        (OSError("no space left on device"), 3, "Traceback"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_has_its_code(error: BaseException, code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def failing() -> None:
        raise error

    assert run(failing, [], "failing") == code
    assert capsys.readouterr().err.lstrip().startswith(says)


def test_the_reports_alone_end_so_too(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def failing() -> None:
        raise OSError("no space left on device")

    assert exit_code(failing, [], "failing") == 3
    assert "OSError: no space left on device" in capsys.readouterr().err
