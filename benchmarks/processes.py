"""A command and all processes that it starts: wall time, CPU time, and memory."""

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
EVERY = 0.2
"""Seconds between two samples of the processes; CPU time after a process's last sample is not counted."""

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class RunCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a run: `seconds` of wall time, `cpu` seconds of all cores, and the most resident bytes (`peak`)."""

    seconds: float
    cpu: float
    peak: int
    code: int
    output: str


def watch_run(*command: str | Path, checkout: Path = ROOT) -> RunCost:
    """Run the command in a checkout to its end."""
    began = time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command], cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    watch = _Watch(process.pid)
    output, _ = process.communicate()
    seconds = time.monotonic() - began
    watch.end()
    return RunCost(
        seconds=seconds, cpu=sum(watch.cpu.values()), peak=watch.peak, code=process.returncode, output=output
    )


class _Watch(threading.Thread):
    """A sampler of a process and all its descendants, even of those whose parent has ended."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.cpu: dict[int, float] = {}
        self.peak = 0
        self._known = {root}
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.is_set():
            self._sample()
            self._over.wait(EVERY)

    def end(self) -> None:
        self._over.set()
        self.join()

    def _sample(self) -> None:
        found = {one.pid: one for one in map(_read_process, _process_ids()) if one is not None}
        while more := {pid for pid, one in found.items() if one.parent in self._known} - self._known:
            self._known |= more
        mine = [one for pid, one in found.items() if pid in self._known]
        self.cpu |= {one.pid: one.cpu for one in mine}
        self.peak = max(self.peak, sum(one.resident for one in mine))


class _Process(msgspec.Struct, frozen=True):
    pid: int
    parent: int
    cpu: float
    resident: int


def _process_ids() -> Sequence[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read_process(pid: int) -> _Process | None:
    """Read the state of a process; return None if it has ended. Its name, in brackets, may contain blanks (proc(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    user, system, resident = int(fields[11]), int(fields[12]), int(fields[21])
    return _Process(pid, int(fields[1]), (user + system) / _TICKS, resident * _PAGE)
