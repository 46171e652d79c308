"""No row about the quorum is satisfied by idling: not by a hundred calm examples, nor by faults on brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance.catalogue import shipped_rows
from conformance.core.registry import checks_by_row
from conformance.judging.judge import judge_history
from conformance.judging.judges import JUDGES
from conformance.judging.pooling import judge_shards
from history.observations import Observation
from history.shards import Shard
from tests.support.metadata_logs import MetadataLogHistory
from tests.support.sample_shards import ShardBuilder

OF_QUORUM = [judge for judge in JUDGES if judge.about == "quorum"]
WITHOUT_CHANGE = "KIP595-INV-17"
"""The row about voters that are cut off and change nothing. Only such a cut gives it an observation."""
ROWS = {row.id for row in shipped_rows() if row.kip == 595 and row.kind == "property" and row.priority == "P1"} - {
    WITHOUT_CHANGE
}
JUDGED = ROWS & {judge.row for judge in OF_QUORUM}
EXAMPLES = 100

LOG: tuple[tuple[int, int, int], ...] = ((0, 3, 1), (4, 8, 4), (9, 9, 5))

Happens = Callable[[MetadataLogHistory], MetadataLogHistory]


def looked_at(history: MetadataLogHistory, leader: int, epoch: int) -> MetadataLogHistory:
    """Ask all controllers and a broker, and read the disks."""
    for node in (101, 102, 103):
        history.knows(node, leader, epoch).stored(node, leader, epoch, voted=leader)
    log = [one for one in LOG if one[2] <= epoch]
    end = log[-1][1] + 1
    history.fetched(*log, by=leader, epoch=epoch, watermark=end).epochs(leader, *((one[2], one[0]) for one in log))
    for by in (leader, 1):
        history.described(end, end, end, watermark=end, epoch=epoch, leader=leader, by=by)
    return history.all_read(
        *log, changes={one[2]: {"leader": 97 + one[2], "granting": (97 + one[2], 103)} for one in LOG[1:]}
    )


def verdicts(happens: Happens) -> dict[str, str]:
    """Return the verdicts on the rows of KIP-595 after a hundred examples with this between two looks at the quorum."""
    builder = ShardBuilder("s1", checks=checks_by_row())
    for number in range(EXAMPLES):
        for one in _observed(happens, number):
            builder.observe(
                one.requirement,
                one.case,
                one.result,
                count=1,
                example=one.example,
                lived=one.lived,
                calm=one.calm,
                situation=one.situation,
            )
    for row in ROWS:
        builder.end_check(row, examples=EXAMPLES)
    shard = Shard(path="s1.jsonl", header=builder.header, lines=builder.finish().lines, torn=0)
    return {cell.requirement: cell.verdict for cell in judge_shards([shard]) if cell.requirement in ROWS}


def _observed(happens: Happens, number: int) -> Iterator[Observation]:
    history = happens(looked_at(MetadataLogHistory(number=number), 101, 4))
    yield from judge_history(OF_QUORUM, history.history).observations


def killed_broker(history: MetadataLogHistory) -> MetadataLogHistory:
    return looked_at(looked_at(history.fault("kill", 1), 101, 4), 102, 5)


def test_calm_examples_satisfy_nothing() -> None:
    found = verdicts(lambda history: looked_at(history, 101, 4))
    assert {row for row in JUDGED if found[row] != "inconclusive"} == set()
    assert "satisfied" not in found.values()


def test_killed_brokers_satisfy_nothing() -> None:
    found = verdicts(killed_broker)
    assert {row for row in JUDGED if found[row] != "inconclusive"} == set()
    assert "satisfied" not in found.values()


def test_killed_leaders_count() -> None:
    found = verdicts(lambda history: looked_at(history.fault("kill", 101), 102, 5))
    assert {row for row, verdict in found.items() if verdict == "satisfied"} >= {"KIP595-INV-02", "KIP595-INV-04"}


def test_the_rows_about_the_quorum_need_a_change() -> None:
    assert {row for row in ROWS if not shipped_rows()[row].changes and "ELEC" not in row} == set()
