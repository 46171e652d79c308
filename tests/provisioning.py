"""`python -m tests.provisioning`: the engine, the images and the programs of Debian's that the kit's own tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from conformance.cli.engine import make_ready
from history.exit_codes import EXIT_SATISFIED, EXIT_TROUBLE
from protocol.errors import KitError

VERSIONS = ("3.9.2", "4.3.1")
"""Those that the tests start."""
PACKAGES = {"docker-registry": ("docker-registry",), "chromium": ("chromium", "fonts-dejavu-core")}
"""By program, packages of Debian's: images are pulled from a registry on 127.0.0.1, and a browser opens the site. Tests that need
one that is missing are skipped, and say so."""


def main() -> int:
    """0, or 3 with the reason if the engine or an image can't be had."""
    try:
        install(PACKAGES)
        make_ready(VERSIONS)
    except KitError as error:
        print(error, file=sys.stderr)
        return EXIT_TROUBLE
    return EXIT_SATISFIED


def install(packages: Mapping[str, Sequence[str]]) -> None:
    """Those that are missing, as root on Debian; elsewhere nothing."""
    lacking = [name for needed, names in packages.items() if not shutil.which(needed) for name in names]
    if not lacking or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *lacking]):
        subprocess.run(["apt-get", "-qq", *words], env=quiet, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(main())
