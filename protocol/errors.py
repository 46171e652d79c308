"""The base of all errors of the kit, below everything that raises one."""


class KitError(Exception):
    """The base of all errors about the kit itself, its input or its machine."""
