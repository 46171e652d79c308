"""The bugs planted for the log machine."""

from __future__ import annotations

from tests.miniature.log.bugs import BUGS
from tests.miniature.log.schedules import LEGAL, SCHEDULES
from tests.miniature.log.scripted import SCRIPTS
from tests.miniature.planted import Planted

PLANTED = Planted(BUGS, SCHEDULES, LEGAL, SCRIPTS)
