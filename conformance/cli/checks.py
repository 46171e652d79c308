"""The pytest command with the kit's exit codes. It runs in a separate process, since the modules that pytest rewrites must not be
imported yet."""

import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TextIO, cast

import pytest

from history.exit_codes import EXIT_TROUBLE, EXIT_WRONG_USE, WRONG_USE_OF_PYTEST

ROOT = Path(__file__).parents[2]
SHORT = {"--out": "--conformance-out", "--profile": "--conformance-profile"}
"""Short names of pytest options that all commands of the kit accept."""


def absolute(word: str) -> str:
    """Make a path in the kit, such as `conformance/kip320`, absolute; return other words, and paths that exist in the current
    folder, unchanged."""
    path, sign, rest = word.partition("::")
    own = ROOT / path
    is_own = path.split("/")[0] == "conformance" and not Path(path).exists() and own.exists()
    return f"{own}{sign}{rest}" if is_own else word


def long_form(word: str) -> str:
    """Replace an option's short name by its pytest name; return other words unchanged."""
    flag, sign, value = word.partition("=")
    return f"{SHORT.get(flag, flag)}{sign}{value}"


def listed_words(words: Iterable[str]) -> Iterator[str]:
    """Replace each `@FILE` by the words in it, one per line. Raises OSError."""
    for word in words:
        yield from Path(word[1:]).read_text().splitlines() if word.startswith("@") else [word]


class PlainErrors:
    """A stderr that omits pytest's introduction to an error in its arguments."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if "usage: pytest.main()" in text:
            wrong = [line.partition("error: ")[2] for line in text.splitlines() if "pytest.main(): error: " in line]
            text = "".join(f"{line}\n" for line in wrong)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main() -> int:
    """Run pytest. The exit codes for wrong use and for an empty selection become 2; that of an internal error becomes 3."""
    try:
        words = [absolute(long_form(word)) for word in listed_words(sys.argv[1:])]
        with redirect_stderr(cast(TextIO, PlainErrors(sys.stderr))):
            code = int(pytest.main(words))
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return EXIT_WRONG_USE
    except Exception:  # of any plugin; Python's exit code for it, 1, means a violation here
        traceback.print_exc()
        return EXIT_TROUBLE
    if code == pytest.ExitCode.USAGE_ERROR and (alike := similar_options(sys.argv[1:])):
        print(f"Did you mean {' and '.join(alike)}?", file=sys.stderr)
    return EXIT_WRONG_USE if code in WRONG_USE_OF_PYTEST else code


def similar_options(words: Iterable[str]) -> list[str]:
    """Return the kit's options that some of the words misspell."""
    from conformance.running.settings import OPTIONS

    own = [option.flag for option in OPTIONS]
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [found for flag in flags if flag not in own for found in get_close_matches(flag, own, n=1, cutoff=0.8)]


if __name__ == "__main__":
    sys.exit(main())
