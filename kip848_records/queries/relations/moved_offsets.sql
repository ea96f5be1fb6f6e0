-- Committed offsets that went back, or were set ahead from outside: what happened at once, to partitions of one topic, is one
-- row. What shows only the order of commits is left out. age_ms: how long ago it was, at capture.
SELECT
  jumps.offsets_partition, jumps.group_id, jumps.incarnation, jumps.member_id, jumps.topic, jumps.kind, jumps.context,
  jumps.jumped_at, count(*) AS partitions, min(jumps.partition) AS first_partition,
  min(jumps.before_offset) AS before_offset, min(jumps.after_offset) AS after_offset, max(jumps.amount) AS amount,
  min(jumps.offset) AS at_offset, ms_between(jumps.jumped_at, max(captures.captured_at)) AS age_ms
FROM jumps_now AS jumps
JOIN captures ON captures.partition = jumps.offsets_partition
WHERE jumps.kind IN ('back', 'ahead') AND NOT jumps.is_late
GROUP BY
  jumps.offsets_partition, jumps.group_id, jumps.incarnation, jumps.member_id, jumps.topic, jumps.kind, jumps.context,
  jumps.jumped_at
