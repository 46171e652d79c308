"""`python -m reports --in DIR/shards --out DIR/matrix`, `… diff`, `… explain`; also the script for `spark-submit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from conformance.catalogue import CatalogueError
from reports.errors import ReportError

COMMANDS = ("merge", "diff", "explain")


def main(arguments: Sequence[str] | None = None) -> int:
    """0: done; 1: worse, with `diff --fail-on-worse`; 2: wrong use, or shards that contradict each other; 3: no Spark here.

    Without a command it merges.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given.pop(0) if given and given[0] in COMMANDS else "merge"
    try:
        # Imported on demand: Spark takes longer to import than the other commands to run.
        code = int(import_module(f"reports.commands.{command}").run(given))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has closed the pipe (`… | head`); nothing more may be written, not even while Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ReportError, CatalogueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, ReportError) else ReportError.exit_code


if __name__ == "__main__":
    sys.exit(main())
