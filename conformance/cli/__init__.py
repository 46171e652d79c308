"""One command line: `./kit` in a checkout, and `python -m conformance`. Each command is a module of its own."""
