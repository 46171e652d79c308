"""Lost disks: records acknowledged with acks=all survive the loss of fewer disks than min.insync.replicas (GEN-09, KIP-966)."""

from collections.abc import Callable, Iterator, Sequence

from conformance.judging.excuses import EPOCH_FILE_LOST_BY_FAULT, LAST_KNOWN_LEADER, MIN_ISR_ALTERED, REASSIGNED
from conformance.judging.facts.log import FetchResult, ProduceResult, ReplicaBatch
from conformance.judging.judge import Claim, Excuse, Finding, Judge
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import ELECTIONS, PermittedLosses
from conformance.judging.log.records import acknowledgement_moment, describe_loss, offsets_shown_by
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.settings import may_be_compacted, min_insync_replicas
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import FaultSpan
from history.effects import Effects

PERMISSIONS = ELECTIONS - {LAST_KNOWN_LEADER} | {EPOCH_FILE_LOST_BY_FAULT}
"""Permissions by which a record may be lost. The election of a last known leader is not among them: it takes place only if no
replica is left that was stopped cleanly or never stopped."""


def acknowledged_records_outlive_disks(story: PartitionStory) -> Iterator[Claim]:
    """Later leaders keep a record while fewer replicas than min.insync.replicas lost their disk or had an unclean shutdown.

    The ISR or ELR then has a replica that holds the record and was stopped cleanly or never stopped. Altering min.insync.replicas
    empties the ELR, and a reassignment brings in other replicas, so partitions with either are left out.
    """
    reads = [read for read in story.derive(Leadership).leader_reads if read.full]
    writes = [write for write in story.produced if write.is_committed and write.values]
    if not reads or not writes or not story.derive(ReplicaDamage).faults_with(_loses_log):
        return
    survivor: tuple[int, int] | None = None
    changed = story.derive(Replicas).changed_from
    for write in writes:
        least, altered = _min_isr(story, write)
        until = min(altered, changed)
        lost = _first_disk_loss(story, write, min(least, story.derive(Replicas).fewest_replicas(write.event)))
        since = [read for read in reads if 0 <= lost < read.asked]
        if since and since[-1].event >= until:
            yield Excuse(MIN_ISR_ALTERED if altered <= changed else REASSIGNED, "disks")
        found = _fate_of_record(story, write, [read for read in since if read.event < until])
        if isinstance(found, tuple):
            survivor = found
        elif found is not None:
            yield found
    if survivor is not None:
        yield Finding(True, "disks", survivor)


OUTLIVES_DISKS = tuple(
    Judge(row, PartitionStory, acknowledged_records_outlive_disks, ("produced",)) for row in ("GEN-09", "GEN-09-L")
)


def _min_isr(story: PartitionStory, write: ProduceResult) -> tuple[int, float]:
    """Return min.insync.replicas when the record was written, and the event after which another value may be in force."""
    setting = story.derive(min_insync_replicas)
    least = min(setting.possible_values(write.asked, write.event), key=int)
    return int(least), setting.first_in_force(lambda text: text != least, write.asked)


def _first_disk_loss(story: PartitionStory, write: ProduceResult, least: int) -> int:
    """Return the event of the first loss of a disk after the write; -1 if there is none, or if `least` or more replicas were
    hit."""
    lost = [span for span in story.derive(ReplicaDamage).faults_with(_loses_log) if span.began > write.asked]
    crashed, unsure = _nodes_hit_since(story, write, _crashes), _nodes_hit_since(story, write, _may_restart)
    # No controller can know of a disk that is lost after a controlled shutdown.
    if not {node for span in lost for node in span.nodes} <= crashed:
        return -1
    return min((span.began for span in lost), default=-1) if len(crashed | unsure) < least else -1


def _nodes_hit_since(story: PartitionStory, write: ProduceResult, does: Callable[[Effects], bool]) -> set[str]:
    spans = [s for s in story.timeline.spans if does(s.effects) and write.asked < _end_of_process(s)]
    everywhere = story.timeline.broker_names if any(span.effects.every_broker for span in spans) else frozenset[str]()
    return {node for span in spans for node in span.nodes} | everywhere


def _end_of_process(span: FaultSpan) -> int:
    """Return the event by which the fault had ended a process, if it ends one."""
    return span.ended if span.effects.fails_directory else span.began


def _crashes(effects: Effects) -> bool:
    return effects.certainly_crashes and not effects.fails_directory


def _may_restart(effects: Effects) -> bool:
    return effects.process == "may-restart" or effects.fails_directory


def _loses_log(effects: Effects) -> bool:
    return effects.damages_log


def _fate_of_record(
    story: PartitionStory, write: ProduceResult, reads: Sequence[FetchResult]
) -> tuple[int, int] | Finding | Excuse | None:
    """Return a finding if the record was lost, or the events of the write and of the last read that shows it; else None."""
    acknowledged, starts = acknowledgement_moment(story, write), story.derive(LogStarts)
    kept_as: dict[tuple[int, int], ReplicaBatch] = {}
    lasted: tuple[int, int] | None = None
    for read in (read for read in reads if read.cur >= acknowledged[0]):
        if trouble := describe_loss(
            read,
            write,
            offsets_shown_by(read, starts.highest_explained(read.event)),
            may_be_compacted(story, read.event),
            kept_as,
        ):
            moment = (read.cur, read.event)
            permission = story.derive(PermittedLosses).between(acknowledged, moment, PERMISSIONS, write.last_offset)
            if permission is not None:
                return Excuse(permission, "disks")
            return Finding(False, "disks", (write.event, read.event), trouble, "lost-write")
        lasted = (write.event, read.event) if read.cur > acknowledged[0] else lasted
    return lasted
