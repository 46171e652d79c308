"""What is planted for a machine of topics."""

from __future__ import annotations

from tests.miniature.planted import Planted
from tests.miniature.topics.bugs import BUGS

PLANTED = Planted(BUGS, schedules={}, legal={})
