"""pytest with the kit's exit codes, in a process of its own: what it rewrites must not be imported yet."""

from __future__ import annotations

import sys

import pytest

from conformance.running.exit_codes import EXIT_WRONG_USE


def main() -> int:
    """pytest's own codes for wrong use, and for a selection that matches nothing, become 2."""
    code = int(pytest.main(sys.argv[1:]))
    return EXIT_WRONG_USE if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED) else code


if __name__ == "__main__":
    sys.exit(main())
