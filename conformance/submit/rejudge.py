"""The script for `spark-submit` that judges again on a cluster.

A script's own folder is the first in which modules are looked for, so there must be none beside it that could stand for one
of Python's own, as `bisect.py` beside the commands could.
"""

import sys

from conformance.cli.rejudge import main

if __name__ == "__main__":
    sys.exit(main())
