"""Files that a voter writes before it answers or asks, by their modification times.

The times are the kernel's, as the kit's own: they may be a few milliseconds behind, and are never ahead.
"""

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if
from history.readings import File, Received


def arrival_ms(bench: Bench, asked: Received) -> int:
    """Return when a request arrived, in milliseconds since 1970."""
    now = bench.now()
    return now.unix_ms - int((now.seconds - asked.at) * 1000)


def durable_if(
    right: bool, file: File, moment_ms: int, *by: object, row: str = "", case: str = "", detail: str = ""
) -> Claims:
    """Observe whether a file has the right content and was last written by a moment. Yield no claim about a right file
    of unknown time."""
    if right and file.modified_ms is None:
        return
    late = (file.modified_ms or moment_ms) - moment_ms
    when = f"the file was written {f'{late} ms after' if late > 0 else 'before'} {detail}"
    yield held_if(right and late <= 0, *by, row=row, case=case, detail=when)
