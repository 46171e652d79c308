"""The kit's own measurements: `./kit benchmarks`. Ratios within one run, printed and never asserted."""
