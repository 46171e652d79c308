"""pytest with the kit's exit codes, in a process of its own: what it rewrites must not be imported yet."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import pytest

from conformance.running.exit_codes import EXIT_TROUBLE, EXIT_WRONG_USE

ROOT = Path(__file__).parents[2]


def found(word: str) -> str:
    """A path of the kit's own, such as `conformance/kip320`, from wherever it is typed; any other word as it is."""
    path, sign, rest = word.partition("::")
    own = ROOT / path
    is_own = path.split("/")[0] == "conformance" and not Path(path).exists() and own.exists()
    return f"{own}{sign}{rest}" if is_own else word


def main() -> int:
    """pytest's own codes for wrong use, and for a selection that matches nothing, become 2; an error that ends it becomes 3."""
    try:
        code = int(pytest.main(list(map(found, sys.argv[1:]))))
    except Exception:  # of any plugin; Python's own code for it, 1, is that of a violation
        traceback.print_exc()
        return EXIT_TROUBLE
    return EXIT_WRONG_USE if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED) else code


if __name__ == "__main__":
    sys.exit(main())
