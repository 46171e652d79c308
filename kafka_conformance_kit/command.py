"""`kafka-conformance`: all that `./kit` does in a checkout, from any folder."""

import os
import shlex
import sys
from pathlib import Path

KIT = Path(__file__).parent / "kit"
"""The packages of the kit. Their names are too general to be installed: a user may have a `conformance/` or a `reports/` too."""
NAME = "kafka-conformance"


def main() -> int:
    """Run the command and return its exit code."""
    if not KIT.is_dir():
        print(f"{NAME} works where the kit is installed from its wheel; in a checkout it is ./kit.", file=sys.stderr)
        return 2
    os.environ.update(environment(os.environ.get("PYTHONPATH", ""), os.environ.get("PYTEST_ADDOPTS", "")))
    sys.path.insert(0, str(KIT))
    from conformance.cli.app import main as command

    return command()


def environment(path: str, options: str) -> dict[str, str]:
    """Return the variables by which all processes of the command find the kit's packages before any of the user's.

    `path` and `options` are PYTHONPATH and PYTEST_ADDOPTS of the user.
    """
    own = ["-c", str(KIT / "pyproject.toml"), "-o", f"cache_dir={shlex.quote(str(Path.cwd() / '.pytest_cache'))}"]
    return {
        # `python -m` would look into the user's folder first.
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(KIT), path])),
        "PYTEST_ADDOPTS": " ".join(filter(None, [shlex.join(own), options])),
        "KAFKA_CONFORMANCE_COMMAND": NAME,
    }


if __name__ == "__main__":
    sys.exit(main())
