"""The events of one example, in the order in which the recorder saw them.

A history is a list of groups; a group is an `Example`, its events, and an `End`. Events are numbered from 0
within their example; `t` is seconds since the example began. Everything in them is plain data, so that a stored
history can be judged again without a cluster.
"""

from typing import Any, Literal

import msgspec

from history.due import Due
from history.effects import Effects
from history.schema import SCHEMA

Outcome = Literal["ok", "fail", "info"]
"""ok: it happened; fail: it certainly did not; info: it may or may not have happened."""

Phase = Literal["inject", "witness", "consequence", "heal"]
"""The phase of a fault.

- inject: it begins;
- witness: its own sign was seen, which alone makes it count;
- consequence: the cluster's reaction; `detail` has `met` (whether it came within a bound), `seconds`, what was seen;
- heal: it is gone, and the cluster is whole again.
"""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """The fields of all events: number, time (seconds since the example began), and the acting process."""

    n: int
    t: float
    process: str = "client"


class Call(Event, frozen=True, kw_only=True, tag="call"):
    """A request on its way to a node (`broker-1`, `controller-2`), or an action on the cluster (`cluster`).

    `malformed` says how the request breaks the protocol's rules on purpose; empty for well-formed ones.
    """

    op: str
    node: str
    request: dict[str, Any]
    malformed: str = ""


class Answer(Event, frozen=True, kw_only=True, tag="answer"):
    """The end of a call. `value` is the answer when `outcome` is ok; otherwise `error` says what was seen."""

    call: int
    outcome: Outcome
    value: Any = None
    error: str = ""
    kind: str = ""


class Fault(Event, frozen=True, kw_only=True, tag="fault"):
    """One phase of a fault on the node that held `role` at that time; `detail` holds what was measured.

    Only the injection has `effects`.
    """

    fault: str
    phase: Phase
    role: str
    node: str
    detail: dict[str, Any] = {}
    effects: Effects | None = None


class Premise(Event, frozen=True, kw_only=True, tag="premise"):
    """A condition that was read back from the cluster; the example proves nothing if it is not met."""

    what: str
    met: bool


class Overdue(Event, frozen=True, kw_only=True, tag="overdue"):
    """A step that the tested system owed and did not take `within` this many seconds; `due` names it, `what` details
    it.

    `late` is the longest delay meanwhile, in seconds, of a thread of the kit that wakes every 100 ms. The requests by which
    the kit looked for the step are the events from `began` until before `over`; both are -1 if they are not known.
    """

    due: Due
    what: str
    within: float
    late: float = 0.0
    began: int = -1
    over: int = -1


class ProcessEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a process, as the engine reports it; `log` has its errors and its last lines."""

    exit_code: int
    out_of_memory: bool = False
    log: str = ""


class Ended(Event, frozen=True, kw_only=True, tag="ended"):
    """The end of a process by itself, not by the kit. The fields are those of `ProcessEnd`."""

    node: str
    exit_code: int
    out_of_memory: bool = False
    log: str = ""


class Note(Event, frozen=True, kw_only=True, tag="note"):
    """A free remark with data, for readers of the evidence. Judges look only at those around a sweep."""

    text: str
    data: dict[str, Any] = {}


class Example(msgspec.Struct, frozen=True, kw_only=True, tag="example", tag_field="type"):
    """The opening of a group: the check, the column, the case and the drawn inputs.

    `context` is the data of a rig that several examples share, `members` the nodes of the cluster, `ranges` what this cluster
    declared, as in `history.shards.Column`: it decides which cases apply, and one worker has several clusters.

    `sent` has the values that earlier examples on the shared rig sent to each partition, and how often; None if that is not
    known. `log_starts` has the highest log start that their requests explain, by partition, where these set a bound. `settings`
    are those that the cluster was started with, in addition to the kit's own. `scripted` are the ids of the voters that the kit
    plays; None if that is not known. `schema` is that of the whole group.
    """

    schema: int = SCHEMA
    example: str
    check: str
    column: str
    case: str = ""
    inputs: dict[str, Any] = {}
    context: dict[str, Any] = {}
    members: list[dict[str, Any]] = []
    settings: dict[str, str] = {}
    ranges: dict[str, int] = {}
    sent: dict[str, dict[str, int]] | None = None
    log_starts: dict[str, int] = {}
    scripted: tuple[int, ...] | None = None


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end", tag_field="type"):
    """The end of a group. `outcome` is `judged`, `premise lost` or `error` (trouble of the kit)."""

    example: str
    outcome: Literal["judged", "premise lost", "error"]
    detail: str = ""


AnyEvent = Call | Answer | Fault | Premise | Overdue | Ended | Note
Line = AnyEvent | Example | End


class History(msgspec.Struct, kw_only=True):
    """One example as judges see it. `complete` is false when the worker died before the group was closed."""

    example: Example
    events: list[AnyEvent]
    end: End | None = None

    @property
    def complete(self) -> bool:
        return self.end is not None

    def answered_calls(self) -> list[tuple[Call, Answer]]:
        """Return the calls with their answers, in the order of the answers."""
        calls = {event.n: event for event in self.events if isinstance(event, Call)}
        return [(calls[event.call], event) for event in self.events if isinstance(event, Answer)]
