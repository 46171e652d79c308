"""Former ids of renamed checks: histories, shards and schedules keep the id that a check had when they were recorded."""

from __future__ import annotations

MODULES = {
    "kip101.alternating": "kip101.alternating_leaders",
    "kip101.controllers": "kip101.controller_failures",
    "kip101.epoch_file": "kip101.leader_epoch_checkpoint",
    "kip101.epochs": "kip101.leader_epochs",
    "kip101.left_behind": "kip101.behind_the_log_start",
    "kip101.log_machine": "machines.log",
    "kip101.lost_epoch_files": "kip101.lost_checkpoints",
    "kip101.quiet_followers": "kip101.high_watermark_after_truncation",
    "kip101.stamps": "kip101.batch_leader_epochs",
    "kip101.too_few_in_sync": "kip101.min_insync_replicas",
    "kip1251.membership": "kip1251.heartbeats",
    "kip1251.stored_epochs": "kip1251.assignment_epoch_records",
    "kip1251.strangers": "kip1251.commits_by_non_members",
    "kip1251.strict_rule": "kip1251.strict_epochs",
    "kip320.adopted_trims": "kip320.deletion_on_followers",
    "kip320.epoch_ends": "kip320.offset_for_leader_epoch",
    "kip320.listed_offsets": "kip320.list_offsets",
    "kip320.offline": "kip320.failed_log_directories",
    "kip320.parked": "kip320.delayed_fetches",
    "kip320.refusals": "kip320.error_precedence",
    "kip320.rejoining": "kip320.returning_leaders",
    "kip320.replicas": "kip320.fenced_replicas",
    "kip320.sessions": "kip320.fetch_sessions",
    "kip320.tail_readers": "kip320.readers_past_a_truncation",
    "kip320.trimming": "kip320.delete_records",
    "kip320.watermark_lag": "kip320.high_watermark_lag",
    "kip360.bumping": "kip360.init_producer_id",
    "kip360.fencing": "kip360.replaced_producers",
    "kip360.listing": "kip360.list_transactions",
    "kip360.markers": "kip360.transaction_markers",
    "kip360.restarts": "kip360.broker_restarts",
    "kip360.zombies": "kip360.init_producer_id_fencing",
    "kip595.announcements": "kip595.begin_and_end_epoch",
    "kip595.describing": "kip595.describe_quorum",
    "kip595.fetch_waits": "kip595.fetch_purgatory",
    "kip595.fetching": "kip595.fetch",
    "kip595.frozen_leaders": "kip595.frozen_begin_and_end",
    "kip595.frozen_leading": "kip595.frozen_leader",
    "kip595.replicas": "kip595.replica_ids",
    "kip595.surface": "kip595.apis_and_settings",
}
"""Former module -> module. Entries are only ever added."""

NAMES = {
    "kip101.batch_leader_epochs": {
        "coordinators_batches_are_stamped": "coordinators_batches_have_the_leader_epoch",
        "leader_stamps_its_epoch": "leader_sets_its_epoch",
        "plain_batch_is_stamped": "plain_batch_has_the_leader_epoch",
        "recompressed_batch_is_stamped": "recompressed_batch_has_the_leader_epoch",
        "transactions_and_their_markers_are_stamped": "transactions_and_markers_have_the_leader_epoch",
    },
    "kip101.behind_the_log_start": {
        "follower_left_behind_the_trim": "follower_behind_the_log_start",
    },
    "kip101.compaction": {
        "compaction_keeps_stamps_and_lookups": "compaction_keeps_epochs_and_lookups",
    },
    "kip101.crashes": {
        "follower_with_a_log_shorter_than_its_map": "follower_with_a_log_shorter_than_its_cache",
        "leader_with_a_log_shorter_than_its_map": "leader_with_a_log_shorter_than_its_cache",
        "map_older_than_the_log_start": "cache_older_than_the_log_start",
    },
    "kip101.high_watermark_after_truncation": {
        "cut_follower_hears_of_the_high_watermark": "truncated_follower_learns_the_high_watermark",
    },
    "kip101.leader_epoch_checkpoint": {
        "file_has_the_documented_form": "checkpoint_has_the_documented_form",
        "trimming_rewrites_the_first_entry": "delete_records_rewrites_the_first_entry",
    },
    "kip101.leader_epochs": {
        "both_descriptions_name_one_epoch": "describe_topic_partitions_agrees_with_metadata",
        "metadata_names_the_turn_of_the_fence": "metadata_epoch_is_where_the_fence_turns",
    },
    "kip101.lost_checkpoints": {
        "tail_is_cut_at_the_high_watermark": "suffix_is_truncated_to_the_high_watermark",
        "wiped_replica_learns_the_epochs": "wiped_replica_rebuilds_its_epochs",
    },
    "kip101.reassignment": {
        "follower_is_built_anew": "removed_follower_is_added_again",
    },
    "kip101.truncation": {
        "orphan_is_cut": "orphan_is_truncated",
    },
    "kip1251.commit_requests": {
        "one_lost_partition_among_kept_ones": "one_lost_partition_fails_the_request",
    },
    "kip1251.commits_by_non_members": {
        "nobody_in_a_group_without_members": "no_member_id_in_a_group_without_members",
        "stranger_to_a_group_with_members": "non_member_of_a_group_with_members",
    },
    "kip1251.heartbeats": {
        "commit_of_before_the_rejoin": "commit_from_before_the_rejoin",
        "previous_epoch_is_forgiven": "previous_epoch_is_accepted",
    },
    "kip1251.static_members": {
        "commit_under_the_id_of_one_who_left": "commit_with_the_id_of_a_departed_member",
    },
    "kip1251.txn_commits": {
        "commit_of_half_a_member": "commit_with_half_a_member_identity",
        "commit_of_nobody": "commit_without_a_member_id",
    },
    "kip320.committed_offsets": {
        "absent_epoch_comes_back_as_none": "absent_epoch_is_returned_as_none",
        "committed_epoch_comes_back": "committed_epoch_is_returned",
        "transaction_decides_on_the_epoch": "epoch_is_visible_once_its_transaction_commits",
    },
    "kip320.delayed_fetches": {
        "fetch_from_a_removed_replica_is_released": "fetch_at_a_removed_replica_is_completed",
        "superseded_fetch_is_released": "fetch_of_an_old_epoch_is_completed",
        "truncated_fetch_is_released": "fetch_past_a_truncation_is_completed",
    },
    "kip320.delete_records": {
        "compacted_topic_is_not_trimmed": "compacted_topic_refuses_deletion",
        "empty_policy_is_trimmed_or_refused": "empty_policy_allows_or_refuses_deletion",
        "full_trim_keeps_the_current_epoch": "full_deletion_keeps_the_current_epoch",
        "misplaced_trim_is_refused": "misplaced_deletion_is_refused",
        "purged_epoch_ends_at_the_first_entry": "deleted_epoch_ends_at_the_first_entry",
        "trim_above_the_watermark_is_refused": "deletion_above_the_high_watermark_is_refused",
        "trimmed_log_is_fetched": "log_with_a_raised_start_is_fetched",
    },
    "kip320.deletion_on_followers": {
        "trims_reach_every_replica": "deletions_reach_every_replica",
    },
    "kip320.divergence": {
        "gap_epoch_diverges_at_its_floor": "epoch_without_records_diverges_at_the_one_below",
        "range_error_or_divergence": "out_of_range_or_diverging",
    },
    "kip320.error_precedence": {
        "each_partition_is_judged_on_its_own": "each_partition_is_answered_on_its_own",
        "epoch_does_not_matter_where_nothing_is_hosted": "epoch_is_irrelevant_without_a_replica",
        "epoch_is_judged_before_leadership": "epoch_is_checked_before_leadership",
        "stranger_is_not_served": "unassigned_replica_is_not_served",
    },
    "kip320.failed_log_directories": {
        "offline_partition_is_told": "offline_partition_has_a_storage_error",
    },
    "kip320.fetch_sessions": {
        "session_tells_what_diverges_or_errs": "session_repeats_divergence_and_errors",
    },
    "kip320.high_watermark_lag": {
        "no_latest_offset_below_the_epoch": "no_latest_offset_below_the_epoch_start",
    },
    "kip320.list_offsets": {
        "current_epoch_fences_the_listing": "current_epoch_fences_list_offsets",
        "follower_lists_for_debugging_only": "follower_answers_the_debugging_replica_only",
    },
    "kip320.offset_for_leader_epoch": {
        "watermark_does_not_bound_the_end": "high_watermark_does_not_bound_the_end",
    },
    "kip320.readers_past_a_truncation": {
        "tail_is_cut_and_refilled": "suffix_is_truncated_and_overwritten",
    },
    "kip320.returning_leaders": {
        "ex_leader_restarts": "former_leader_restarts",
    },
    "kip320.versions": {
        "commits_understand_their_epochs": "commits_have_their_epochs",
        "fetch_understands_its_epochs": "fetch_checks_its_epochs",
        "listing_understands_its_epochs": "list_offsets_checks_its_epochs",
        "lookup_understands_its_epochs": "offset_for_leader_epoch_checks_its_epochs",
        "metadata_tells_the_leader_epoch": "metadata_has_the_leader_epoch",
        "ranges_are_those_of_the_release": "api_versions_match_the_release",
    },
    "kip360.init_producer_id": {
        "matching_pair_bumps_by_one": "matching_id_and_epoch_bump_by_one",
        "versions_without_the_pair_bump": "versions_without_id_and_epoch_bump",
    },
    "kip360.init_producer_id_fencing": {
        "half_a_pair_is_invalid": "id_without_epoch_is_invalid",
        "new_instance_ends_the_right_to_retry": "new_instance_ends_retries",
        "wrong_pair_is_fenced": "wrong_id_or_epoch_is_fenced",
    },
    "kip360.list_transactions": {
        "listed_by_an_unknown_state": "unknown_state_is_returned",
        "listed_by_duration": "duration_filter_is_applied",
        "listed_transactions": "filtered_transactions_are_listed",
    },
    "kip360.replaced_producers": {
        "fenced_offsets_stay_out": "fenced_offset_commit_leaves_nothing",
        "zombie_cannot_write_where_the_epoch_is_unknown": "zombie_cannot_write_to_a_partition_without_the_epoch",
    },
    "kip595.apis_and_settings": {
        "quorum_state_has_its_form": "quorum_state_has_the_documented_form",
        "raft_is_spoken_to_controllers_only": "raft_apis_are_on_controller_listeners_only",
        "raft_knows_the_formatted_id": "raft_accepts_the_formatted_cluster_id",
        "ranges_are_those_of_the_release": "api_versions_match_the_release",
    },
    "kip595.describe_quorum": {
        "broker_passes_the_question_on": "broker_forwards_describe_quorum",
        "others_do_not_describe_it": "non_leader_does_not_describe_the_quorum",
    },
    "kip595.failover": {
        "observer_asks_others_when_its_leader_is_silent": "observer_fetches_from_others_when_its_leader_is_frozen",
    },
    "kip595.fetch": {
        "divergence_is_told": "diverging_epoch_is_answered",
        "nonsense_arguments_are_refused": "invalid_arguments_are_refused",
    },
    "kip595.fetch_purgatory": {
        "commit_leaves_a_fetch_waiting_that_names_no_high_watermark": "fetch_without_high_watermark_outwaits_a_commit",
        "divergence_is_told_at_once": "diverging_epoch_is_answered_at_once",
        "snapshot_is_named_at_once": "snapshot_id_is_answered_at_once",
    },
    "kip595.frozen_begin_and_end": {
        "first_successor_stands_at_once": "first_successor_is_a_candidate_at_once",
        "later_successor_waits_its_share": "later_successor_waits_by_its_position",
        "standing_and_leading_on_disk": "candidate_and_leader_on_disk",
    },
    "kip595.frozen_followers": {
        "candidate_tells_the_truth": "candidate_names_its_own_log_end",
        "follower_tells_who_and_where_it_is": "follower_identifies_itself_in_fetches",
        "voter_asks_others_when_its_leader_is_silent": "voter_asks_others_when_its_leader_does_not_answer",
    },
    "kip595.frozen_leader": {
        "high_watermark_is_what_one_voter_has": "high_watermark_is_the_voters_fetch_offset",
        "leader_does_not_heed_its_own_end": "leader_ignores_its_own_end_quorum_epoch",
    },
    "kip595.frozen_votes": {
        "one_vote_an_epoch": "one_vote_per_epoch",
    },
    "kip595.refusals": {
        "absent_cluster_id_is_not_looked_at": "absent_cluster_id_is_not_checked",
        "wrong_place_is_refused": "wrong_partition_is_refused",
    },
    "kip595.snapshots": {
        "piece_carries_the_leaders_endpoint": "snapshot_bytes_carry_the_leaders_endpoint",
    },
    "kip595.votes": {
        "nonsense_log_position_is_refused": "impossible_log_position_is_refused",
        "vote_for_another_disk_is_refused": "vote_for_another_directory_is_refused",
    },
}
"""By module, as it is called today: former function -> function. Entries are only ever added."""


def current_id(check: str) -> str:
    """The id of a check today, by the id that was recorded for it."""
    former, _, name = check.rpartition(".")
    module = MODULES.get(former, former)
    return ".".join(filter(None, [module, NAMES.get(module, {}).get(name, name)]))
