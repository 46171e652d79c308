"""The base of all errors of the kit, which has to stand below all that raises one."""


class KitError(Exception):
    """Base of all errors about the kit itself, its input or its machine."""
