"""Names that moved to `story`."""

from conformance.judges.story import AT_REST, CONVERGES_WITHIN, FUTURE_REPLICA, HEALED

__all__ = ["AT_REST", "CONVERGES_WITHIN", "FUTURE_REPLICA", "HEALED"]
