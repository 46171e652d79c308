"""The profiles of a run, and the minutes that each has for a column."""

from typing import Literal

Profile = Literal["smoke", "quick", "nightly"]

MINUTES: dict[Profile, float] = {"smoke": 0.0, "quick": 15.0, "nightly": 60.0}
"""Minutes per column, by profile. 0 means no clock: all work is done, however long it takes."""
