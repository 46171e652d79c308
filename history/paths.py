"""The kit's directories between runs: state (locks, logs) and caches (jars, facts about images, archives of classes)."""

import os
from pathlib import Path

_NAME = "kafka-conformance"


def state_dir() -> Path:
    """Return `$KAFKA_CONFORMANCE_STATE`, else the user's XDG state directory, and create it if it is missing."""
    own = os.environ.get("KAFKA_CONFORMANCE_STATE")
    return _make_folder(Path(own) if own else _xdg("XDG_STATE_HOME", ".local/state") / _NAME)


def cache_dir() -> Path:
    """Return `$KAFKA_CONFORMANCE_CACHE`, else the user's XDG cache directory; it may be deleted between runs."""
    own = os.environ.get("KAFKA_CONFORMANCE_CACHE")
    return _make_folder(Path(own) if own else _xdg("XDG_CACHE_HOME", ".cache") / _NAME)


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable)
    return Path(value) if value else Path.home() / default


def _make_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
