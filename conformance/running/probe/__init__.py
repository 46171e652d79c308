"""Running a probe, and making the inputs of what it finds smaller."""
