"""Topics and their administration: open outcomes, and topics that may be deleted."""

from __future__ import annotations

from uuid import UUID

from conformance.judging.excuses import ANSWERED_OPEN, NOT_ANSWERED, SENT_TWICE, TOPIC_DOUBTED
from history.events import History
from protocol.codes import Error
from tests.contract.forgiven.entry import Forgiven
from tests.support.administration import CONTROLLER, AdministrationHistory
from tests.support.histories import LogHistory, stamped

ONE, TWO = UUID(int=1), UUID(int=2)
FORGED = stamped(5, 0, "forged")
AT_REST = "what is described later says whether it took effect"


def _traced(error: int | None, *, asked: bool = True, name: str = "topic") -> History:
    """A creation is refused, and the topic is there; another request to create it, or a topic, has an open outcome."""
    history = AdministrationHistory()
    if asked:
        history.create(3, error=error, name=name)
    history.create(3, error=int(Error.INVALID_CONFIG)).seen(3)
    return (history if asked else history.create(3, error=error, name=name)).history


def _sent(hit: str = CONTROLLER, *, when: str = "stands", error: Error = Error.TOPIC_ALREADY_EXISTS) -> History:
    """A creation is refused, since the topic exists, and is there afterwards; a process is stopped meanwhile."""
    history = AdministrationHistory()
    if when != "comes":
        history.fault("inject", hit, "frozen")
    if when == "is over":
        history.fault("heal", hit, "frozen")
    history.create(3, error=int(error))
    return (history.fault("inject", hit, "frozen") if when == "comes" else history).seen(3).history


def _doubted(by: int = 2, id: UUID = ONE, *, deleted: str = "before") -> History:
    """A record that no request sent is read from 1; a deletion of unknown outcome came before or after, and `by` tells an id."""
    history = LogHistory().created_as(ONE).settled(1, 5)
    if deleted == "before":
        history.deleted(lost=True)
    if deleted == "refused":
        history.deleted(error=Error.TOPIC_AUTHORIZATION_FAILED)
    history.whole(1, FORGED, epoch=5, hw=1)
    return (history.deleted(lost=True) if deleted == "after" else history).metadata(by, 1, 5, id=id).history


ENTRIES = (
    *(
        Forgiven(
            evidence,
            row="GEN-01",
            covered=lambda error=error: _traced(error),  # type: ignore[misc]
            near={
                "another subject": lambda error=error: _traced(error, name="other"),  # type: ignore[misc]
                "before it began": lambda error=error: _traced(error, asked=False),  # type: ignore[misc]
                "refused": lambda: _traced(int(Error.INVALID_CONFIG)),
            },
            applies={"after it ended": AT_REST},
        )
        for evidence, error in ((NOT_ANSWERED, None), (ANSWERED_OPEN, int(Error.REQUEST_TIMED_OUT)))
    ),
    Forgiven(
        SENT_TWICE,
        row="GEN-01",
        covered=_sent,
        near={
            "another node": lambda: _sent("broker-2"),
            "before it began": lambda: _sent(when="comes"),
            "after it ended": lambda: _sent(when="is over"),
            "described otherwise": lambda: _sent(error=Error.INVALID_CONFIG),
        },
    ),
    Forgiven(
        TOPIC_DOUBTED,
        row="GEN-16",
        covered=_doubted,
        near={
            "another node": lambda: _doubted(by=1),
            "before it began": lambda: _doubted(deleted="after", by=1),
            "refused": lambda: _doubted(deleted="refused"),
        },
        applies={"after it ended": "the near history of the node that tells the id again is its end"},
    ),
)
