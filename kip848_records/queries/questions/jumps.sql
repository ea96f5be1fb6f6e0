-- Where did committed offsets jump: set back or ahead, lost, or begun anew?
-- Needs an audit with --offset-commits. amount: offsets, not messages; docs/reference/tables.md says what each kind proves.
SELECT
  group_id, topic, partition, jumped_at, kind, cause, context, before_offset, after_offset, amount, recovered_at,
  offsets_partition, jumps.offset
FROM commit_jump AS jumps
ORDER BY jumped_at DESC, group_id, topic, partition, jumps.offset DESC
