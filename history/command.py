"""The command that users type for the kit, for texts that name it, and what they give it to see a violation again."""

import os
import shlex
from collections.abc import Sequence

VARIABLE = "KAFKA_CONFORMANCE_COMMAND"
COMMAND = os.environ.get(VARIABLE, "./kit")
"""`./kit` in a checkout, `kafka-conformance` where the kit is installed, which sets the variable."""
INSTALLED = VARIABLE in os.environ
COMPLETION = "_KIT_COMPLETE"
"""The variable that a shell sets to ask what the words of a line may become; ./kit's own name can't be part of one."""
ALL_THAT_SEE_IT = "--all-that-see-it"
"""The option with which a row's own checks run, and all others that see it."""


def replay_command(selection: Sequence[str], schedule: str) -> str:
    """Return the command that replays a schedule on the column that `selection` selects."""
    return shlex.join([COMMAND, "pytest", *selection, "--replay", schedule])


def row_command(selection: Sequence[str], row: str, check: str = "") -> str:
    """Return the command that runs a row's own checks, or `check` alone, which may see the row on its way only."""
    only = [ALL_THAT_SEE_IT, "-k", f"{check.replace('.', ' and ')}["] if check else []
    return shlex.join([COMMAND, "pytest", *selection, "--requirement", row, *only])
