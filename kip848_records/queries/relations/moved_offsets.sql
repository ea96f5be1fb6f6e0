-- Committed offsets that went back, or were set ahead from outside: what happened at once, to partitions of one topic, is one
-- row. An owner before that commits late moves them back too, and nobody reads again: that is left out. age_ms: how long ago
-- it was, at capture.
SELECT
  jumps.offsets_partition, jumps.group_id, jumps.incarnation, jumps.member_id, jumps.topic, jumps.kind, jumps.context,
  jumps.jumped_at, count(*) AS partitions, min(jumps.partition) AS first_partition,
  min(jumps.before_offset) AS before_offset, min(jumps.after_offset) AS after_offset, max(jumps.amount) AS amount,
  min(jumps.offset) AS at_offset, ms_between(jumps.jumped_at, max(captures.captured_at)) AS age_ms
FROM commit_jump AS jumps
JOIN captures ON captures.partition = jumps.offsets_partition
LEFT JOIN (
  SELECT offsets_partition, group_id, incarnation, topic, partition, member_id, sum(late_commits) AS late_commits
  FROM commit_progress
  WHERE owner = 'member'
  GROUP BY offsets_partition, group_id, incarnation, topic, partition, member_id
) AS late
  ON late.offsets_partition = jumps.offsets_partition AND late.group_id = jumps.group_id
  AND late.incarnation = jumps.incarnation AND late.topic = jumps.topic AND late.partition = jumps.partition
  AND late.member_id = jumps.previous_member_id
WHERE jumps.kind IN ('back', 'ahead')
  AND jumps.context <> 'previous_owner' AND NOT (jumps.context = 'owner_change' AND coalesce(late.late_commits, 0) > 0)
GROUP BY
  jumps.offsets_partition, jumps.group_id, jumps.incarnation, jumps.member_id, jumps.topic, jumps.kind, jumps.context,
  jumps.jumped_at
