"""The end of a command: its exit code, and one message about the error."""

import os
import sys
import traceback
from collections.abc import Sequence

import click

from conformance.catalogue import CatalogueError
from history.command import COMPLETION
from history.exit_codes import EXIT_INTERRUPTED, EXIT_TROUBLE, EXIT_WRONG_USE
from history.schema import WrongSchema
from reports.errors import ReportError


def exit_code(
    command: click.Command,
    arguments: Sequence[str],
    name: str,
    given: object = None,
    known: tuple[type[Exception], ...] = (),
) -> int:
    """Run a command. Return its exit code, 2 for wrong use, 3 for an unforeseen error, or 130 after Ctrl-C.

    `given` is the context's object. Raises the `known` errors, which the caller handles.
    """
    stdout = sys.stdout
    try:
        code = command.main(list(arguments), prog_name=name, complete_var=COMPLETION, standalone_mode=False, obj=given)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return EXIT_WRONG_USE
    except click.Abort:
        return EXIT_INTERRUPTED
    except (ReportError, CatalogueError, WrongSchema) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, ReportError) else ReportError.exit_code
    except (BrokenPipeError, SystemExit) as error:
        # When the reader has closed the pipe (`… | head`), click puts another stream in the place of stdout, and exits.
        if isinstance(error, SystemExit) and sys.stdout is stdout:
            raise
        _discard_output()
        return 0
    except known:
        raise
    except Exception:  # Python's exit code for it, 1, means a violation here
        traceback.print_exc()
        return EXIT_TROUBLE
    return int(code or 0)


def _discard_output() -> None:
    """Redirect stdout to /dev/null: nothing may be written to a closed pipe, even while Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
