"""The command that users type for the kit, for texts that name it."""

import os

VARIABLE = "KAFKA_CONFORMANCE_COMMAND"
COMMAND = os.environ.get(VARIABLE, "./kit")
"""`./kit` in a checkout, `kafka-conformance` where the kit is installed, which sets the variable."""
INSTALLED = VARIABLE in os.environ
COMPLETION = "_KIT_COMPLETE"
"""The variable that a shell sets to ask what the words of a line may become; ./kit's own name can't be part of one."""
