"""The bugs planted for the group machine."""

from __future__ import annotations

from tests.miniature.groups.bugs import BUGS
from tests.miniature.groups.schedules import LEGAL, SCHEDULES
from tests.miniature.planted import Planted

PLANTED = Planted(BUGS, SCHEDULES, LEGAL)
