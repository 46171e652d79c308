"""Jars that state their release."""

import zipfile
from pathlib import Path


def jar(path: Path, entries: dict[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return path


def clients_jar(directory: Path, version: str = "9.9.9") -> Path:
    return jar(directory / f"kafka-clients-{version}.jar", {"kafka/kafka-version.properties": f"version={version}\n"})
