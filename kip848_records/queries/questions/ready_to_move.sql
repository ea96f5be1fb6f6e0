-- question = "Which groups can move to the consumer protocol now, which not and why, and which are half-way? Those that would gain most come first."
-- note = "The broker's policy and its largest group size are not in the log: size_needed is members + 1. docs/migration.md"
-- needs = []
-- about = "classic or mixed group"
-- among = "migration_now"
-- empty = "There is no group with the classic protocol"
-- [without]
-- offset_commits = "groups that have offset commits only, and for how long consumption stopped"
SELECT
  group_id, kind, state, verdict, meaning, reasons, members, size_needed, static_members, classic_members, consumer_members, protocol,
  assignor_note, mode, rebalances, rebalances_per_hour, partitions_stopped, unowned_ms, stop_max_p95_ms, troubles, mixed_since,
  last_joined_at, has_last_consumer, is_minimum, least_session_timeout_ms, session_timeout_ms, rebalance_timeout_ms, known_bugs, can_move, has_common_protocol,
  partition
FROM migration_now
ORDER BY
  CASE verdict
    WHEN 'mixed' THEN 0 WHEN 'only_classic' THEN 1 WHEN 'online' THEN 2 WHEN 'replaced' THEN 3 WHEN 'after_stop' THEN 4
    WHEN 'streams_after_stop' THEN 5 WHEN 'unloadable' THEN 6 WHEN 'unknown' THEN 7 ELSE 8
  END,
  coalesce(rebalances_per_hour, 0) * CASE WHEN mode = 'eager' THEN members ELSE 1 END DESC, group_id, partition
