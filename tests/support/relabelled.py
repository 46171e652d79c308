"""A distribution whose jars state another version, like a vendor's or a build of trunk."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

from fixtures.images import maven
from fixtures.runs import discard_progress

_VERSION_FILE = "kafka/kafka-version.properties"


def relabelled(home: Path, version: str, jar_version: str) -> Path:
    """Copy the released jars of `version` to the new folder `home`, under the name `jar_version`; return the folder."""
    libs = home / "libs"
    libs.mkdir(parents=True)
    for jar in maven.jar_directory(version, discard_progress).glob("*.jar"):
        named = libs / jar.name.replace(f"-{version}.jar", f"-{jar_version}.jar")
        if jar.name == f"kafka-clients-{version}.jar":
            _rewritten(jar, named, version, jar_version)
        else:
            shutil.copyfile(jar, named)
    return home


def _rewritten(jar: Path, to: Path, version: str, jar_version: str) -> None:
    with zipfile.ZipFile(jar) as read, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as written:
        for entry in read.infolist():
            content = read.read(entry)
            if entry.filename == _VERSION_FILE:
                content = content.replace(f"version={version}".encode(), f"version={jar_version}".encode())
            written.writestr(entry, content)


if __name__ == "__main__":
    relabelled(Path(sys.argv[1]), *sys.argv[2:])
