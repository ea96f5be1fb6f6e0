-- question = "Where did committed offsets jump: set back or ahead, lost, or begun anew?"
-- note = "amount: offsets, not messages; docs/reference/tables.md says what each kind proves."
-- needs = ["offset_commits"]
-- about = "committed partition"
-- among = "(SELECT DISTINCT offsets_partition, group_id, topic, partition FROM commit_progress) AS committed"
-- empty = "No committed offset jumped"
SELECT
  group_id, topic, partition, jumped_at, kind, cause, context, before_offset, after_offset, amount, recovered_at,
  retention_ms, assumed_retention_ms, offsets_partition, jumps.offset
FROM commit_jump AS jumps
ORDER BY jumped_at DESC, group_id, topic, partition, jumps.offset DESC
