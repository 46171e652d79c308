"""The program of helper containers as they run it: one file, and Python with nothing but its standard library."""

import shlex
import sys
from pathlib import Path

from fixtures.helper import command, files


def helper_command(scratch: Path, *arguments: object) -> list[str]:
    """The arguments of a process on this machine."""
    here = {path: scratch / path.lstrip("/") for path in files()}
    for path, content in files().items():
        here[path].write_bytes(content)
    _, *words = shlex.split(command(*arguments))
    return [sys.executable, *(str(here.get(word, word)) for word in words)]
