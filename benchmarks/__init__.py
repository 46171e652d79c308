"""What is measured, and how: `python -m benchmarks`. Ratios within one run, printed and never asserted."""
