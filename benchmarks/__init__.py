"""The kit's own measurements: `python -m benchmarks`. Ratios within one run, printed and never asserted."""
