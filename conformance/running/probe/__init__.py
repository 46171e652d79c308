"""Running a probe, and shrinking the inputs of its findings."""
