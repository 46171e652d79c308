"""The leader that the other controllers elect once theirs is gone (KIP595-LIVE-01)."""

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if, premise
from conformance.core.waiting import Settled
from protocol.codes import Error
from protocol.quorum import QuorumAnswer

ELECTS_WITHIN = 30.0
"""The row's bound in seconds, for topologies with the default timeouts."""


def other_leader(bench: Bench, gone: str) -> QuorumAnswer | None:
    """Return another controller's description of the quorum that it leads, with a known high watermark; None if there is
    none."""
    others = [name for name in bench.controllers if name != gone]
    answers = bench.answers(others, lambda name: bench.node(name, controller=True).describe_quorum())
    leads = (answer for answer in answers.values() if answer.error is Error.NONE and answer.high_watermark >= 0)
    return next(leads, None)


def await_other_leader(bench: Bench, gone: str, within: float) -> tuple[Settled, QuorumAnswer | None]:
    """Wait until another controller leads with a known high watermark; return the end of the wait, and its description."""
    found = list[QuorumAnswer]()

    def leads() -> bool:
        answer = other_leader(bench, gone)
        found.extend([answer] if answer is not None else [])
        return bool(found)

    settled = bench.wait.becomes_true(leads, _other_leader_text(gone), within)
    return settled, (found[-1] if found else None)


def _other_leader_text(gone: str) -> str:
    return f"a successor of {gone} with a high watermark" if gone else "a leader with a high watermark"


def successor_leads(
    bench: Bench, gone: str, *, row: str = "KIP595-LIVE-01", case: str = "leader", within: float = ELECTS_WITHIN
) -> Claims:
    """Check that another controller leads with a known high watermark in time; end the example if none does. `gone` is empty if
    any controller may lead."""
    what = _other_leader_text(gone)
    in_time, found = await_other_leader(bench, gone, within)
    shown = [found] if found is not None else []
    yield held_if(in_time, *shown, row=row, case=case, detail="" if found else f"not {what}")
    yield premise(in_time, what)
