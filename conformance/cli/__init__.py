"""One command line: `./kit` in a checkout, and `python -m conformance`, with a module per command."""
