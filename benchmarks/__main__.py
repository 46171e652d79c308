"""`python -m benchmarks`: the same as `./kit benchmarks`."""

from benchmarks.command import benchmarks

benchmarks()
