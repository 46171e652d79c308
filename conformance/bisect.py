"""`python -m conformance.bisect ROW`: the same as `./kit bisect ROW` (`conformance/cli/bisect.py`)."""

import sys

from conformance.cli.bisect import main

if __name__ == "__main__":
    sys.exit(main())
