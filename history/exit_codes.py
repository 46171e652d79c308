"""The exit codes of all commands, and the rule that maps outcomes to them (README, exit codes)."""

EXIT_SATISFIED, EXIT_VIOLATED, EXIT_WRONG_USE, EXIT_TROUBLE, EXIT_INTERRUPTED = 0, 1, 2, 3, 130

WRONG_USE_OF_PYTEST = frozenset((4, 5))
"""pytest's codes for refused options and for an empty selection; the kit ends with 2 for both."""


def exit_code_of(
    *, interrupted: bool = False, wrong_use: bool = False, violated: bool = False, troubled: bool = False
) -> int:
    """Return the exit code of the first of these that holds; so a violation is reported even if there was trouble.

    - 130 `interrupted`: the user ended it before it was done;
    - 2 `wrong_use`: the request cannot be fulfilled on any machine;
    - 1 `violated`: a requirement is violated that no baseline lists; for a command that compares, something differs;
    - 3 `troubled`: the kit, the engine or the machine had trouble, or nothing is satisfied;
    - 0 otherwise.
    """
    if interrupted:
        return EXIT_INTERRUPTED
    if wrong_use:
        return EXIT_WRONG_USE
    if violated:
        return EXIT_VIOLATED
    return EXIT_TROUBLE if troubled else EXIT_SATISFIED
