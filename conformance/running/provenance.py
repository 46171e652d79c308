"""The provenance of a run: when, where and by which kit it was made, and by which job."""

import os
import socket
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import history

JOB, ATTEMPT = "KAFKA_CONFORMANCE_JOB", "KAFKA_CONFORMANCE_ATTEMPT"
"""The environment variables with a job's address and the number of its attempt; on GitHub its own serve."""
KIT = Path(history.__file__).parent.parent
CHANGED = " (changed)"
"""The end of a commit's name if its tree has other changes."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a run, as each header of its shards has it."""

    began: str = ""
    host: str = ""
    commit: str = ""
    job: str = ""
    attempt: int = 0


def provenance_of(began: float, environment: Mapping[str, str] = os.environ, kit: Path = KIT) -> Provenance:
    """Return the provenance of a run of this process; `began` is in seconds since the epoch."""
    return Provenance(
        began=datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        host=socket.gethostname(),
        commit=commit_of(kit),
        job=environment.get(JOB) or _github_job(environment),
        attempt=_number(environment.get(ATTEMPT) or environment.get("GITHUB_RUN_ATTEMPT", "")),
    )


def commit_of(kit: Path) -> str:
    """Return the commit of a checkout, marked if its tree has changes; empty for an installed kit."""
    if _git(kit, "rev-parse", "--show-toplevel") != str(kit.resolve()):
        return ""
    commit = _git(kit, "rev-parse", "HEAD")
    return commit + (CHANGED if commit and _git(kit, "status", "--porcelain") else "")


def last_commit(kit: Path = KIT) -> datetime | None:
    """Return the time of a checkout's last commit; None for an installed kit."""
    seconds = _git(kit, "log", "-1", "--format=%ct")
    return datetime.fromtimestamp(int(seconds), UTC) if seconds else None


def _git(folder: Path, *words: str) -> str:
    """Return git's answer; empty if it has none, or if there is no git."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _github_job(environment: Mapping[str, str]) -> str:
    parts = [environment.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else ""


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
