"""Restarts of the real voter among scripted ones."""

from conformance.rigs.quorum.frozen import Frozen
from fixtures.wire import WireError
from history.due import START_TIMEOUT
from history.readings import File


def kill_and_restart(frozen: Frozen) -> File:
    """Kill the voter, start it again, and wait until it answers. Return its quorum-state while it was down, since a start
    writes the file again."""
    with frozen.bench.processes.down(frozen.name, role="voter"):
        left = frozen.quorum_state_file()
    await_answer(frozen)
    return left


def await_answer(frozen: Frozen) -> None:
    """Wait until the voter answers after its restart."""
    what = f"{frozen.name} answering after its restart"
    frozen.bench.eventually(lambda: _answers(frozen), what, START_TIMEOUT, due="node")


def _answers(frozen: Frozen) -> bool:
    try:
        frozen.reported_leader()
    except WireError:
        return False
    return True
