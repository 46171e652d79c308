"""The shape of a row."""

import hashlib
from typing import Literal

import msgspec

from conformance.catalogue.applicability import Facts, applies

Level = Literal["must", "should", "landed", "gap", "informational", "later", "law"]
"""A row's level. `law`: a general law for any Kafka, whatever the KIP; `later`: a later KIP's promise, only
recorded."""
RECORDED: frozenset[Level] = frozenset(("informational", "later"))
"""Levels that are recorded and never judged."""
Kind = Literal["probe", "property", "scenario"]


class CatalogueError(Exception):
    """A row that cannot be used; the message names file, row, value and rule."""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clause of a row that needs separate observations.

    `applies` and `needs` name the versions and levels with this case; `promised` names the KIP behind each end of
    `applies`. `inputs`, the number of distinct inputs, and `kind`, the kind of check that observes the case, default to
    the row's.
    """

    id: str
    about: str
    applies: list[str] = []
    needs: list[str] = []
    promised: str = ""
    inputs: int = 0
    kind: Kind | None = None


class Expectation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row's expectation in a range of versions or levels; `expect` is the token a check switches on.

    `promised` is the later KIP that promised it from this range on.
    """

    versions: list[str] = []
    needs: list[str] = []
    promised: str = ""
    expect: str
    about: str


LATER = "-L"
"""The suffix of the ids of rows of level `later`."""


def family_of(kip: int) -> str:
    """Return the family of rows of a KIP: ``KIP-320``; for 0 ``General laws``, which belong to no KIP."""
    return f"KIP-{kip}" if kip else "General laws"


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One testable sentence, with an id that never changes. `kip` is 0 for a general law, which belongs to no KIP.

    `promised` names the KIP behind each end of `applies`; for a row of level `later`, whose id is that of the row before the
    change plus ``-L``, also the finalized level that promised the change. `floor` is the number of observations that a case
    needs, where it differs from that of the row's kind. `inputs` is the number of its distinct inputs; `incidental` names drawn
    inputs that do not shape the situation, such as an offset that is only stored. `changes`: the row is about a change of leader,
    ISR, coordinator or quorum. `unobserved`: no judge and no check observes it yet.
    """

    id: str
    title: str
    statement: str
    kip: int = 0
    section: str
    level: Level
    priority: Literal["P1", "P2", "P3"]
    kind: Kind
    applies: list[str]
    cases: list[Case]
    needs: list[str] = []
    promised: str = ""
    inputs: int = 3
    incidental: list[str] = []
    changes: bool = False
    unobserved: bool = False
    floor: int = 0
    expectations: list[Expectation] = []
    mutants: list[str] = []
    note: str = ""
    seen: str = ""
    tickets: list[str] = []

    @property
    def family(self) -> str:
        return family_of(self.kip)

    @property
    def before(self) -> str:
        """The row whose rule the later KIP changed, for a row of level `later`."""
        return self.id.removesuffix(LATER)

    @property
    def hash(self) -> str:
        """The requirement's identity: id, applicability, case ids and tokens of expectations, without its wording."""
        cases = [(case.id, case.applies, case.needs) for case in self.cases]
        expectations = [(one.versions, one.needs, one.expect) for one in self.expectations]
        judged = (self.id, self.applies, self.needs, cases, expectations)
        return hashlib.sha256(msgspec.json.encode(judged)).hexdigest()[:16]

    def applicable_cases(self, facts: Facts) -> list[Case]:
        """Return the cases that this column must show; none if the row does not apply."""
        if not applies(facts, self.applies, self.needs):
            return []
        return [case for case in self.cases if applies(facts, case.applies, case.needs)]

    def expected_token(self, facts: Facts) -> str:
        """Return the token of the single expectation in force on this column."""
        found = [e.expect for e in self.expectations if applies(facts, e.versions, e.needs)]
        if len(found) != 1:
            raise CatalogueError(
                f"{self.id}: {len(found)} expectations are in force on {facts.version}: {found}; there must be one"
            )
        return found[0]
