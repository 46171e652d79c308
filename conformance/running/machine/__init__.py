"""Running a machine: explore, investigate, shrink."""
