"""The exit codes of all commands (README, exit codes)."""

EXIT_SATISFIED, EXIT_VIOLATED, EXIT_WRONG_USE, EXIT_TROUBLE, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
