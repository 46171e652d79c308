"""`python -m conformance COMMAND`: the same as `./kit COMMAND` (`conformance/cli/app.py`)."""

import sys

from conformance.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
