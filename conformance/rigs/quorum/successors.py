"""The leader that the other controllers elect once theirs is gone (KIP595-LIVE-01)."""

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if, premise
from protocol.codes import Error
from protocol.quorum import QuorumAnswer

ELECTS_WITHIN = 30.0
"""The row's bound in seconds, for topologies with the default timeouts."""


def leader_besides(bench: Bench, gone: str) -> QuorumAnswer | None:
    """Return another controller's description of the quorum that it leads, with a known high watermark; None if there is
    none."""
    others = [name for name in bench.controllers if name != gone]
    answers = bench.answers(others, lambda name: bench.node(name, controller=True).describe_quorum())
    leads = (answer for answer in answers.values() if answer.error is Error.NONE and answer.high_watermark >= 0)
    return next(leads, None)


def successor_leads(bench: Bench, gone: str) -> Claims:
    """Check that another controller leads with a known high watermark in time; end the example if none does."""
    found = list[QuorumAnswer]()

    def leads() -> bool:
        answer = leader_besides(bench, gone)
        found.extend([answer] if answer is not None else [])
        return bool(found)

    what = f"a successor of {gone} with a high watermark"
    in_time = bench.wait.comes_true(leads, what, ELECTS_WITHIN)
    yield held_if(in_time, *found, row="KIP595-LIVE-01", case="leader", detail="" if found else f"not {what}")
    yield premise(in_time, what)
