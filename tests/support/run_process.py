"""A run that is held by another process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_HOLD = """
import sys
from fixtures.runs import Run
run = Run.join(sys.argv[1]) if sys.argv[1:] else Run.begin()
print(run.id, flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process(*run_id: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Yield a run's id, and the process that holds the run until it is killed."""
    command = [sys.executable, "-c", _HOLD, *run_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()
