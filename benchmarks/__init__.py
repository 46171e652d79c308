"""The kit's own measurements (`./kit benchmarks`): ratios within one run, printed and never asserted."""
