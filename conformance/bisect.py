"""`python -m conformance.bisect ROW`: the same as `./kit bisect ROW` (`conformance/cli/bisect.py`)."""

import sys

from conformance.cli.bisect import bisect
from conformance.cli.group import run
from history.command import COMMAND

if __name__ == "__main__":
    sys.exit(run(bisect, sys.argv[1:], f"{COMMAND} bisect"))
