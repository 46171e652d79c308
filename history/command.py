"""The command that users type for the kit, and the command lines with which they see a violation again."""

import os
import shlex
from collections.abc import Sequence

VARIABLE = "KAFKA_CONFORMANCE_COMMAND"
COMMAND = os.environ.get(VARIABLE, "./kit")
"""`./kit` in a checkout, `kafka-conformance` where the kit is installed, which sets the variable."""
INSTALLED = VARIABLE in os.environ
COMPLETION = "_KIT_COMPLETE"
"""The variable with which a shell asks for completions; its name is fixed, as `./kit` is no valid part of one."""
ALL_THAT_SEE_IT = "--all-that-see-it"
"""The option that runs, besides a row's own checks, all others that observe the row."""


def replay_command(selection: Sequence[str], schedule: str) -> str:
    """Return the command that replays a schedule on the column that `selection` selects."""
    return shlex.join([COMMAND, "pytest", *selection, "--replay", schedule])


def row_command(selection: Sequence[str], row: str, check: str = "") -> str:
    """Return the command that runs a row's own checks or, if given, only `check`, which may observe the row in passing."""
    only = [ALL_THAT_SEE_IT, "-k", f"{check.replace('.', ' and ')}["] if check else []
    return shlex.join([COMMAND, "pytest", *selection, "--requirement", row, *only])
