"""An archive of runs, which is only ever added to."""
