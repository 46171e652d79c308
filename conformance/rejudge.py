"""`python -m conformance.rejudge DIR`: the same as `./kit rejudge DIR` (`conformance/cli/rejudge.py`)."""

import sys

from conformance.cli.rejudge import main

if __name__ == "__main__":
    sys.exit(main())
