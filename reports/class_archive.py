"""An archive of the classes that Spark loads, so that its next JVM need not read and verify them again.

A short session spends half of its time on some 15,000 classes. The first local session writes them to the kit's cache when its
JVM ends, after the command has ended; later sessions map them into memory. Java compares the archive with itself and the jars,
and ignores it if they differ.
"""

import hashlib
import os
import shutil
from pathlib import Path

import pyspark

from history.paths import cache_dir

# Java names on stdout all classes that it can't archive.
_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"


def archive_flags() -> str:
    """Return the flags by which a local JVM uses the archive, or creates it; none without a Java or a cache."""
    java = _java_path()
    try:
        folder = cache_dir() / "spark"
        folder.mkdir(exist_ok=True)
    except OSError:
        return ""
    if java is None:
        return ""
    archive = archive_file(java, Path(pyspark.__file__).parent / "jars", folder)
    return f'{_QUIET} "-XX:{"SharedArchiveFile" if is_whole(archive) else "ArchiveClassesAtExit"}={archive}"'


def _java_path() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    return Path(found).resolve() if found else None


def archive_file(java: Path, jars: Path, folder: Path) -> Path:
    """Return the path of the archive for this Java and these jars; remove archives for earlier states of the jars' folder."""
    ours = _short_hash(str(jars))
    facts = f"{java} {java.stat().st_mtime_ns} {jars.stat().st_mtime_ns}"
    archive = folder / f"{ours}-{_short_hash(facts)}.jsa"
    for other in set(folder.glob(f"{ours}-*.jsa")) - {archive}:
        other.unlink(missing_ok=True)
    return archive


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_whole(archive: Path) -> bool:
    """True if the archive exists and has its header, which Java writes last: a JVM that was killed left zeros."""
    if not archive.exists():
        return False
    with archive.open("rb") as file:
        return any(file.read(4))
