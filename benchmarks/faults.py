"""Witnessed faults per hour: kill, pause past fencing and zombie in equal thirds on a partition's leader, under
traffic.

Several clusters work in parallel, each in its own process. A cycle counts if its fault was witnessed (another leader,
and direct evidence) and the cluster is healthy again: every ISR full, all brokers unfenced, the quorum stable. Boots
and replacements are part of the time.
"""

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from statistics import median, quantiles

import msgspec

from fixtures.cluster import KRaftCluster, Topology
from fixtures.engine import connect
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Injected, Injector
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.zombies import CutOffFromControllers
from fixtures.faults.selftest import Targets, run_once
from fixtures.faults.traffic import Writer
from fixtures.images import Image
from fixtures.runs import Progress, Run
from protocol.errors import KitError

CLUSTER = Topology(
    name="fault-benchmark",
    controllers=1,
    brokers=3,
    config={"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "200"},
)
KINDS: tuple[Callable[[], Fault], ...] = (Kill, PausePastFencing, CutOffFromControllers)
RECORDS_A_SECOND = 600.0
"""Records per second while there is a leader, which is half of the time; on average, 100 per second must be
acknowledged."""
RECORDS_A_BATCH = 50


class ShareResult(msgspec.Struct, kw_only=True):
    """The result of one cluster's share: cycles that count, and the reasons for replacing clusters."""

    cycles: list[Injected] = []
    replaced: list[str] = []
    acknowledged: int = 0
    seconds: float = 0.0
    longest_gap: float = 0.0
    gaps: int = 0
    boot_seconds: list[float] = []


def measure(image: Image, minutes: float, clusters: int, progress: Progress) -> list[ShareResult]:
    """Run all clusters in parallel for that many minutes. Raises KitError if one never started."""
    context = multiprocessing.get_context("spawn")
    with Run.begin() as run, ProcessPoolExecutor(clusters, mp_context=context) as pool:
        try:
            until = time.time() + 60 * minutes
            shares = [pool.submit(_work_on_clusters, image, run.id, place, until) for place in range(clusters)]
            return list(_results_of_shares(shares, progress))
        finally:
            run.end(connect())


def _results_of_shares(shares: Sequence[Future[ShareResult]], progress: Progress) -> Iterator[ShareResult]:
    for place, share in enumerate(shares):
        worked = share.result()
        progress(
            f"cluster {place}: {len(worked.cycles)} cycles in {worked.seconds:.0f} s, replaced {len(worked.replaced)}"
        )
        yield worked


def _work_on_clusters(image: Image, run_id: str, place: int, until: float) -> ShareResult:
    """Use one cluster after another until the time is up. Each starts with another kind of fault, to spread JVM
    starts."""
    worked, began = ShareResult(), time.monotonic()
    kinds = itertools.islice(itertools.cycle(KINDS), place % len(KINDS), None)
    with Run.join(run_id) as run:
        while time.time() < until:
            _on_one_cluster(image, run, kinds, until, worked)
    worked.seconds = time.monotonic() - began
    return worked


def _on_one_cluster(
    image: Image, run: Run, kinds: Iterator[Callable[[], Fault]], until: float, worked: ShareResult
) -> None:
    began = time.monotonic()
    with (
        KRaftCluster(CLUSTER, image, run).boot() as cluster,
        FaultTarget.on_new_topic(cluster, min_insync_replicas="2") as target,
    ):
        worked.boot_seconds.append(time.monotonic() - began)
        with Writer(target, RECORDS_A_SECOND, RECORDS_A_BATCH) as traffic:
            try:
                _run_cycles(Injector(target), kinds, until, worked)
            except KitError as trouble:
                worked.replaced.append(str(trouble))
        worked.acknowledged += traffic.acknowledged
        worked.longest_gap = max(worked.longest_gap, traffic.longest_gap)
        worked.gaps += traffic.gaps


def _run_cycles(injector: Injector, kinds: Iterator[Callable[[], Fault]], until: float, worked: ShareResult) -> None:
    for kind in kinds:
        if time.time() >= until:
            return
        fault = kind()
        injector.inject(fault)
        worked.cycles.append(injector.heal(fault))


def table(image: Image, shares: Sequence[ShareResult]) -> str:
    """Return as Markdown the cycles per hour and the seconds of their parts by kind, then traffic, gaps and boots."""
    wall = max(share.seconds for share in shares)
    cycles = [cycle for share in shares for cycle in share.cycles]
    lines = [
        f"| Kafka {image.label}, {len(shares)} clusters, {wall / 60:.1f} min "
        "| cycles | an hour | to witness | to heal | 95% of cycles below |",
        "|---|---:|---:|---:|---:|---:|",
        *(_kind_line(kind().name, cycles, wall) for kind in KINDS),
        f"| all | {len(cycles)} | **{3600 * len(cycles) / wall:.0f}** | | | |",
        "",
        *_traffic_lines(shares),
    ]
    return "\n".join(lines)


def _kind_line(name: str, cycles: Sequence[Injected], wall: float) -> str:
    mine = [cycle for cycle in cycles if cycle.fault == name]
    if len(mine) < 2:
        return f"| {name} | {len(mine)} | | | | |"
    witness = median(cycle.inject_seconds + cycle.witness_seconds for cycle in mine)
    heal = median(cycle.heal_seconds for cycle in mine)
    slow = quantiles([seconds_of(cycle) for cycle in mine], n=20)[-1]
    return f"| {name} | {len(mine)} | {3600 * len(mine) / wall:.0f} | {witness:.2f} s | {heal:.2f} s | {slow:.2f} s |"


def _traffic_lines(shares: Sequence[ShareResult]) -> list[str]:
    rates = [share.acknowledged / share.seconds for share in shares]
    boots = [seconds for share in shares for seconds in share.boot_seconds]
    gaps, longest = sum(share.gaps for share in shares), max(share.longest_gap for share in shares)
    replaced = [reason.splitlines()[0] for share in shares for reason in share.replaced]
    return [
        f"Acknowledged records a second and cluster, over the whole time: {', '.join(f'{rate:.0f}' for rate in rates)}. "
        f"Gaps of more than a second without one: {gaps}, the longest {longest:.1f} s. "
        f"Boots: {len(boots)}, {median(boots):.1f} s each. Clusters replaced: {len(replaced)}.",
        *(f"- {reason}" for reason in replaced),
    ]


def seconds_of(cycle: Injected) -> float:
    return cycle.inject_seconds + cycle.witness_seconds + cycle.heal_seconds


def measure_other_kinds(image: Image, rounds: int, progress: Progress) -> str:
    """Run every other kind in its usual role, several times on one cluster; return the medians as Markdown."""
    thirds = {kind().name for kind in KINDS}
    kinds = [kind for kind in FAULTS if kind().name not in thirds]
    lines = ["| other kinds | role | cycles | to witness | to heal |", "|---|---|---:|---:|---:|"]
    with Run.begin() as run:
        targets = Targets(image, run)
        try:
            for kind in kinds:
                progress(f"{kind().name}, {rounds} times")
                lines.append(_other_kind_line(targets, kind, rounds))
        finally:
            targets.close()
            run.end(connect())
    return "\n".join(lines)


def _other_kind_line(targets: Targets, kind: type[Fault], rounds: int) -> str:
    shown = [run_once(targets, kind(role=kind.roles[0])) for _ in range(rounds)]
    cycles = [row.injected for row in shown if row.injected is not None]
    if not cycles:
        return f"| {shown[0].fault} | {shown[0].role} | 0 | {shown[0].ending}: {shown[0].reason.splitlines()[0]} | |"
    witness = median(cycle.inject_seconds + cycle.witness_seconds for cycle in cycles)
    heal = median(cycle.heal_seconds for cycle in cycles)
    return f"| {shown[0].fault} | {shown[0].role} | {len(cycles)} of {rounds} | {witness:.2f} s | {heal:.2f} s |"
