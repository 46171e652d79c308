"""The lab of one worker: its current cluster, its history file and its shards."""

import hashlib
import math
import re
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

import history
from conformance.catalogue import Facts, shipped_rows
from conformance.catalogue.deviations import Deviation, load_deviations
from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.cluster import LiveCluster
from conformance.core.evaluate import judge_on_column
from conformance.core.registry import checks_by_row
from conformance.core.topologies import adapt_topology
from conformance.judging.due import hindrance, lasting_hindrance
from conformance.judging.earlier_examples import EarlierExamples
from conformance.judging.judge import Judge
from conformance.judging.judges import JUDGES
from conformance.running.planning.budget import TimePlan, Work
from conformance.running.recording.progress import Progress
from conformance.running.recording.shard_writer import ShardWriter
from conformance.running.recording.usage import BOOTS, KIT, NODES, ClusterMeter, Usage
from conformance.running.settings import Settings
from conformance.running.standing import HEAL_TIMEOUT, REPLACED_NOTE, Standing, with_reason
from fixtures.cluster import KRaftCluster, NotReady, Topology
from fixtures.errors import EngineTrouble
from fixtures.faults.base.watch import Watch
from fixtures.images import Image
from fixtures.runs import Run
from fixtures.spending import Ledger, counted_in, spending
from fixtures.tape import LiveTape
from fixtures.waiting import deadline, eventually, overdue_in
from history.command import COMMAND
from history.deeds import deeds_behind
from history.due import is_starved
from history.events import AnyEvent, End, Example, Fault, History
from history.schema import SCHEMA
from history.shards import Column
from history.store import HistoryWriter
from protocol.errors import KitError

READY_AGAIN_TIMEOUT = 60.0
HEALTHY_AGAIN_TIMEOUT = 60.0
"""Seconds after a disturbing example in which all nodes must serve again, and then again for the cluster to become healthy."""


MANY_EXAMPLES = 20
"""The number of calm examples whose topics are deleted together."""


class Hindered(KitError):
    """The tested system kept a cluster from booting or a rig from being prepared; the failure has its own observation. `reason`
    names the broken row."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


class Lab:
    """The lab of one worker. It has at most one cluster: a request for another topology or image closes it first. `judges` look
    at every example."""

    judges: Sequence[Judge] = JUDGES

    def __init__(
        self, settings: Settings, run: Run, worker: str, images: dict[str, Image], plan: TimePlan | None = None
    ) -> None:
        self.settings = settings
        self.plan = plan or TimePlan(0.0, {})
        self._began = time.monotonic() - (time.time() - settings.began if settings.began else 0.0)
        self._ledgers: dict[str, Ledger] = {}
        self.run = run
        self.worker = worker
        self.images = images
        self.kept: list[KRaftCluster] = []
        self._standing: tuple[tuple[str, str], Standing] | None = None
        self._failed: dict[tuple[str, str], KitError] = {}
        self._writer = HistoryWriter(settings.out_dir / self.history_path)
        self._shards: dict[str, ShardWriter] = {}
        self.progress = Progress(settings.out_dir / "progress", run.id, worker)
        self._examples = 0
        self._meter = ClusterMeter()
        self._boots_done = 0

    @cached_property
    def known_deviations(self) -> list[Deviation]:
        """The known deviations of released versions, and those of the user."""
        return load_deviations(shipped_rows(), *map(Path, self.settings.deviations))

    # --- clusters

    def standing_cluster(self, label: str, topology: Topology) -> Standing:
        """Return the cluster for a column and topology, booting it if needed. A failed boot is not repeated."""
        settings = self.settings
        topology = adapt_topology(topology, self.images[label].version, settings.features, settings.properties)
        key = (label, topology.name)
        if key in self._failed:
            raise self._failed[key]
        if self._standing is None or self._standing[0] != key:
            # Half a boot is wasted, so a boot may exceed the time of the check that needs it.
            with spending("boot"), deadline(math.inf):
                self.drop_cluster()
                try:
                    self._standing = (key, self._boot(key, topology))
                    self._boots_done += 1
                    self._meter.measure(self._standing[1].cluster.cpu_times(), BOOTS)
                except KitError as error:
                    self._failed[key] = self._explain(key[0], topology, error)
                    raise self._failed[key] from error
        return self._standing[1]

    def _boot(self, key: tuple[str, str], topology: Topology) -> Standing:
        image = self.images[key[0]]
        cluster = self._boot_patiently(image, topology)
        column = column_of(key[0], image, cluster.ranges(), self.settings)
        return Standing(cluster=cluster, watch=Watch(cluster), column=column)

    def _explain(self, label: str, topology: Topology, error: KitError) -> KitError:
        """Return the error for all checks that need the cluster. If the tested system kept it from booting, that is observed
        once, in a history of its own.

        A user's setting may be to blame as well, so with one nothing is observed.
        """
        if not isinstance(error, NotReady) or self.settings.properties:
            return KitError(f"the {topology.name} cluster never came up: {error}")
        column = self.bare_column(label)
        tape = self._tape(f"boot:{topology.name}", column, topology)
        note_not_ready(tape, error)
        reason = hindrance(tape.history)
        self._end_rig(tape, column, "premise lost" if reason else "error", str(error))
        text = f"the {topology.name} cluster never came up: {reason or error}"
        return Hindered(text, reason) if reason else KitError(text)

    def _boot_patiently(self, image: Image, topology: Topology) -> KRaftCluster:
        """Boot the cluster, with a second attempt after engine trouble such as a busy disk, which is not Kafka's fault.

        The second error has the first as its context.
        """
        try:
            return KRaftCluster(topology, image, self.run).boot()
        except EngineTrouble:
            return KRaftCluster(topology, image, self.run).boot()

    def heal(self, bench: Bench, tape: LiveTape, *, troubled: bool = False, within: float = HEAL_TIMEOUT) -> str:
        """Heal what an example left broken, and wait up to `within` seconds for a healthy cluster.

        Returns the reason to replace the cluster, also noted in the history; empty if it is healthy. After an example without
        faults or errors no node is asked. If a state that all examples share never came, the cluster is replaced, too.
        """
        if self._standing is None:
            return ""
        reason = ""
        if troubled or _has_faults(tape.events):
            reason = self._why_unhealthy(bench, self._standing[1], within)
        reason = reason or lasting_hindrance(tape.history)
        if reason:
            tape.note(REPLACED_NOTE, {"reason": reason})
        return reason

    def _why_unhealthy(self, bench: Bench, standing: Standing, within: float) -> str:
        """Heal the cluster. Returns why it does not become healthy; empty if it does."""
        try:
            # The deadline is a new one: the cluster has to be healed even if the check's time is up.
            with deadline(time.monotonic() + within):
                bench.heal_all()
                self._wait_until_healthy(bench, standing)
        except Exception as trouble:  # whatever the error is, the next example must not meet it
            bench.record_failure(trouble)
            return f"{type(trouble).__name__}: {trouble}"
        return ""

    def clear(self, history: History, *, at_once: bool = False) -> str:
        """Delete the topics of an example and of those before it: `at_once`, or after faults, or once there are many. Later
        examples can be reproduced without them, and a killed node has no logs of them to recover.

        A kept cluster keeps its topics. Returns the reason to replace the cluster; empty if the topics are gone.
        """
        standing = self._standing[1] if self._standing is not None else None
        if standing is None or standing.cluster in self.kept or standing.cluster.topology.scripted:
            return ""
        standing.examples.append(history.example.example)
        if not (at_once or _has_faults(history.events) or len(standing.examples) >= MANY_EXAMPLES):
            return ""
        try:
            standing.watch.delete_topics([f"-{example}-" for example in standing.examples])
        except KitError as error:
            return f"topics of examples stay: {error}"
        standing.examples.clear()
        return ""

    def _wait_until_healthy(self, bench: Bench, standing: Standing) -> None:
        """Wait for a healthy cluster. With scripted voters it is healthy once its controllers answer: electing a leader is up to
        the check."""

        def lacking() -> list[str]:
            """Return the parts of the cluster that do not run or are not in sync."""
            return (
                []
                if standing.cluster.topology.scripted
                else [*bench.remaining_damage(), *standing.watch.why_unhealthy()]
            )

        if standing.cluster.topology.scripted or lacking():
            try:
                # Fails at once if a node has ended by itself.
                standing.cluster.wait_ready(within=READY_AGAIN_TIMEOUT)
            except KitError as error:
                if (overdue := overdue_in(error)) is not None:
                    overdue.due = standing.watch.due()
                raise KitError("\n".join([*lacking(), str(error)])) from error
        eventually(
            lambda: not lacking(),
            within=HEALTHY_AGAIN_TIMEOUT,
            what="the cluster is whole after the example",
            state=lambda: "\n".join(lacking()),
            due=standing.watch.due,
        )

    def keep(self) -> None:
        """Keep the current cluster for the user to inspect, and print its addresses."""
        if self._standing is not None and self._standing[1].cluster not in self.kept:
            cluster = self._standing[1].cluster
            self.kept.append(cluster)
            self.run.keep(f"{cluster} is kept: {cluster.addresses()}. To remove it: {COMMAND} sweep {self.run.id}")

    def drop_cluster(self) -> None:
        if self._standing is not None:
            self._look()
            for client in self._standing[1].clients.values():
                client.close()
            self._standing[1].watch.close()
            if self._standing[1].cluster not in self.kept:
                self._standing[1].cluster.close()
        self._standing = None

    # --- examples

    @property
    def history_path(self) -> str:
        """The path of this worker's histories, relative to the output directory."""
        return f"histories/{self.run.id}/{self.worker}.jsonl.zst"

    def tape(self, check: str, standing: Standing, **fields: Any) -> LiveTape:
        """Begin a tape for a new example, or for the preparation of a rig."""
        return self._tape(check, standing.column, standing.cluster.topology, **fields)

    def _tape(self, check: str, column: Column, topology: Topology, **fields: Any) -> LiveTape:
        self._examples += 1
        example = Example(
            example=f"{self.run.id}-{self.worker}-{self._examples}",
            check=check,
            column=column.label,
            members=msgspec.to_builtins(topology.members()),
            settings=topology.config,
            ranges=column.ranges,
            scripted=topology.scripted,
            **fields,
        )
        self.progress.note_example()
        return LiveTape(self._writer, example, self.progress.note_fault)

    def bench(self, tape: LiveTape, standing: Standing) -> Bench:
        cluster = standing.cluster
        return Bench(tape, standing.column, cluster.topology.members(), LiveCluster(cluster), standing.clients)

    def shared_context(self, rig: Rig[Any, Any], standing: Standing) -> dict[str, Any]:
        """Return the data of a shared rig. The first call prepares the rig, on its own tape. Raises KitError."""
        if rig.name not in standing.rigs:
            tape = self.tape(f"rig:{rig.name}", standing)
            bench = self.bench(tape, standing)
            try:
                with spending("prepare"):
                    data = rig.prepare(bench)
            except Exception as error:
                bench.record_failure(error)
                reason = hindrance(tape.history)
                detail = self._give_up(bench, tape, error)
                self._end_rig(tape, standing.column, "premise lost" if reason else "error", detail)
                raise (Hindered(detail, reason) if reason else KitError(detail)) from error
            finally:
                bench.close()
            standing.earlier[rig.name] = EarlierExamples().after(self._end_rig(tape, standing.column, "judged"))
            standing.rigs[rig.name] = msgspec.to_builtins(data)
        return standing.rigs[rig.name]

    def _end_rig(
        self, tape: LiveTape, column: Column, outcome: Literal["judged", "premise lost", "error"], detail: str = ""
    ) -> History:
        """End the history of preparing a rig or cluster, judge it like any other, and record it under the rig's name."""
        history = tape.end(End(example=tape.example.example, outcome=outcome, detail=detail))
        facts = Facts(version=column.version, ranges=column.ranges)
        found, check = judge_on_column(facts, self.judges, history), tape.example.check
        for seen in found.observations:
            deeds = deeds_behind(history, seen)
            self.shard(column).observation(seen, check=check, history=self.history_path, deeds=deeds)
        if found.raised:
            rows, detail = sorted({one.row for one in found.raised} - {""}), "\n".join(map(str, found.raised))
            self.shard(column).check(
                check=check, rows=rows, outcome="error", examples=1, seconds=0.0, detail=detail[:4000]
            )
        return history

    def _give_up(self, bench: Bench, tape: LiveTape, error: Exception) -> str:
        """Heal the cluster after preparing a rig failed, or else drop it. Returns the error's message, with the reason if the
        cluster was dropped."""
        reason = self.heal(bench, tape, troubled=True)
        if reason:
            self.drop_cluster()
        return with_reason(f"{type(error).__name__}: {error}", reason)

    # --- shards and time

    def shard(self, column: Column) -> ShardWriter:
        if column.label not in self._shards:
            self._shards[column.label] = self._open_shard(column)
        return self._shards[column.label]

    def _open_shard(self, column: Column) -> ShardWriter:
        standing = self._standing
        return ShardWriter(
            self.settings.out_dir / "shards",
            f"{self.run.id}-{self.worker}-{path_slug(column.label)}",
            column,
            schema=SCHEMA,
            kit=history.__version__,
            run=self.run.id,
            worker=self.worker,
            topology=standing[0][1] if standing else "",
            profile=self.settings.profile,
            seed=self.settings.seed,
            rows={row.id: row.hash for row in shipped_rows()},
            checks=checks_by_row(),
            image_digest=self.images[column.label].digest,
            **msgspec.structs.asdict(self.settings.provenance),
        )

    def bare_column(self, label: str) -> Column:
        """Return the facts of a column whose cluster never booted: those of its image, without the version ranges that a cluster
        declares."""
        return column_of(label, self.images[label], {}, self.settings)

    @property
    def seconds_elapsed(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self._began

    def allowance(self, work: Work) -> float:
        """Return the seconds for an item that begins now; 0 if it is too late."""
        return self.plan.share(work).allowance(self.seconds_elapsed)

    def ledger(self, label: str) -> Ledger:
        """Return the account of how this worker spends its time on a column."""
        return self._ledgers.setdefault(label, Ledger())

    def usage(self, label: str) -> Usage:
        """Return what this worker has used so far; the seconds are those on the column."""
        self._look()
        cpu = {KIT: time.process_time(), **self._meter.seconds}
        return Usage(spent=self.ledger(label).seconds_so_far(), cpu=cpu, boots=self._boots_done)

    def _look(self) -> None:
        if self._standing is not None:
            self._meter.measure(self._standing[1].cluster.cpu_times(), NODES)

    def close(self, ended_early: str = "") -> None:
        """Close the cluster and the shards. If the run `ended_early`, each column's shard gets that reason, even if nothing ran
        there."""
        for label in self.images if ended_early else ():
            self.shard(self.bare_column(label))
        if self._standing is not None:
            with counted_in(self.ledger(self._standing[0][0])), spending("boot"):
                self.drop_cluster()
        for label, shard in self._shards.items():
            shard.close(self.ledger(label).seconds, ended_early)
        self._writer.close()


def note_not_ready(tape: LiveTape, error: NotReady) -> None:
    """Record what a failed boot shows about the tested system: processes that ended by themselves, or controllers that answer but
    never elect a leader. If the kit itself woke late meanwhile, it shows nothing."""
    for name, end in error.ends.items():
        tape.note_end(name, end)
    overdue = overdue_in(error)
    if error.disagrees and overdue is not None and not is_starved(overdue.late, overdue.within):
        tape.overdue("quorum", str(error), overdue.within, overdue.late)


def column_of(label: str, image: Image, ranges: dict[str, int], settings: Settings) -> Column:
    return Column(
        label=label,
        version=image.version,
        image=image.reference,
        image_id=image.id,
        ranges=ranges,
        build=image.build,
        digest=digest_of(image, settings) if image.jars else "",
        selection=settings.selections.get(label, []),
    )


def digest_of(image: Image, settings: Settings) -> str:
    """Return a column's identity, which is the same on every machine: a hash of its jars, the version it is judged as, and its
    configuration."""
    made_of = [image.jars, image.version, image.kafka_opts, settings.configuration]
    return hashlib.sha256(msgspec.json.encode(made_of)).hexdigest()


def path_slug(text: str) -> str:
    """Return the label as a valid part of a path."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text)


def _has_faults(events: Iterable[AnyEvent]) -> bool:
    return any(isinstance(event, Fault) for event in events)
