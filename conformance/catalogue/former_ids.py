"""Former ids of renamed checks: histories, shards and schedules keep the id that a check had when they were recorded."""

from __future__ import annotations

MODULES = {
    "kip101.alternating": "kip101.alternating_leaders",
    "kip101.controllers": "kip101.controller_failures",
    "kip101.epoch_file": "kip101.leader_epoch_checkpoint",
    "kip101.epochs": "kip101.leader_epochs",
    "kip101.left_behind": "kip101.behind_the_log_start",
    "kip101.lost_epoch_files": "kip101.lost_checkpoints",
    "kip101.quiet_followers": "kip101.high_watermark_after_truncation",
    "kip101.stamps": "kip101.batch_leader_epochs",
    "kip101.too_few_in_sync": "kip101.min_insync_replicas",
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
    return f"{module}.{NAMES.get(module, {}).get(name, name)}"
