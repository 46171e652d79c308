"""The judges of a replicated log, which look at every history of it: a machine's example and a scenario alike."""

from __future__ import annotations

from conformance.judging.judge import Judge
from conformance.judging.laws import elections, isolation, late_copies, reassignments, registered_elections
from conformance.judging.laws.disks import OUTLIVES_DISKS
from conformance.judging.log import committed_offsets as commits
from conformance.judging.log import consumer_reads, offsets, readers, records
from conformance.judging.log import convergence as agreement
from conformance.judging.log import delete_records as trims
from conformance.judging.log import fetch_positions as positions
from conformance.judging.log import in_sync_replicas as membership
from conformance.judging.log import leader_epochs as epochs

LOG_JUDGES: tuple[Judge, ...] = (
    records.one_record_per_offset_and_epoch,
    records.prefixes_agree,
    records.stamps_never_decrease,
    records.committed_means_kept,
    records.one_commit_per_offset,
    records.reads_are_stable,
    records.refused_writes_are_never_read,
    records.followers_keep_stamps_and_bytes,
    records.followers_cut_nothing_of_the_leader,
    epochs.maps_cover_the_log,
    epochs.epochs_never_fall,
    epochs.one_leader_per_epoch,
    epochs.every_leadership_change_raises_the_epoch,
    epochs.a_restarted_leader_opens_a_new_epoch,
    epochs.no_future_stamps,
    epochs.stale_leaders_cannot_commit,
    epochs.fetches_at_the_epoch_are_served,
    epochs.fetches_at_an_older_epoch_are_fenced,
    epochs.fetches_at_an_unknown_epoch_are_refused,
    epochs.epoch_lookups_are_fenced_by_epoch,
    epochs.offset_lookups_are_fenced_by_epoch,
    offsets.watermark_is_monotone_on_a_leader,
    offsets.offsets_of_one_answer_are_ordered,
    offsets.latest_is_the_fetch_limit,
    offsets.end_offsets_grow_with_the_epoch,
    offsets.ends_equal_the_model,
    offsets.divergence_is_sound,
    membership.isr_is_sane,
    membership.success_needs_enough_in_sync,
    membership.high_watermark_waits_for_enough_in_sync,
    agreement.replicas_agree_in_the_end,
    agreement.healed_replicas_converge,
    consumer_reads.followers_serve_up_to_their_watermark,
    consumer_reads.nothing_uncommitted_is_served,
    positions.genuine_pairs_are_not_flagged,
    positions.genuine_positions_are_not_diverged,
    positions.truncation_is_reported,
    positions.range_errors_are_below_the_log_start,
    trims.trims_reach_all_live_replicas,
    commits.commits_are_shown_with_their_epoch,
    commits.commits_survive_their_coordinator,
    readers.readers_miss_nothing_that_survives,
    elections.replica_that_may_lead_leads,
    elections.no_other_replica_leads,
    registered_elections.no_other_replica_is_registered,
    *OUTLIVES_DISKS,
    isolation.other_directories_go_on,
    reassignments.reassignment_keeps_enough_copies,
    late_copies.late_copy_of_a_produce_appends_nothing,
    late_copies.late_copy_of_a_deletion_deletes_nothing,
)
