"""The program of helper containers as they run it: one file, on Python with only the standard library."""

import shlex
import sys
from pathlib import Path

from fixtures.helper import program_command, program_files


def helper_command(scratch: Path, *arguments: object) -> list[str]:
    """Return the command line of the program as a process of this machine."""
    here = {path: scratch / path.lstrip("/") for path in program_files()}
    for path, content in program_files().items():
        here[path].write_bytes(content)
    _, *words = shlex.split(program_command(*arguments))
    return [sys.executable, *(str(here.get(word, word)) for word in words)]
