-- Committed offsets that were removed while their group lives on: what was removed at once, of a topic and a member, is one
-- row, for it has one cause. followed: of how many partitions there is a commit behind it; followed_at: the last of these.
-- age_ms: how long ago it was, at capture. retention_ms: for how long their client had asked the broker to keep them.
-- assumed_retention_ms: the retention of the brokers, if the cause was found with one that is assumed.
-- is_unowned: the group had members, and none of them owned the partitions.
SELECT
  jumps.offsets_partition, jumps.group_id, jumps.incarnation, jumps.member_id, jumps.topic, jumps.cause,
  jumps.jumped_at, count(*) AS partitions, min(jumps.partition) AS first_partition,
  min(jumps.before_offset) AS before_offset, min(jumps.offset) AS at_offset, count(jumps.next_offset) AS followed,
  max(jumps.next_at) AS followed_at, max(jumps.retention_ms) AS retention_ms,
  max(jumps.assumed_retention_ms) AS assumed_retention_ms,
  min(CASE WHEN jumps.context IN ('previous_owner', 'unowned') THEN 1 ELSE 0 END) = 1 AS is_unowned,
  unix_millis(max(captures.captured_at)) - unix_millis(jumps.jumped_at) AS age_ms
FROM (
  SELECT
    every.*, lead(every.offset) OVER later AS next_offset, lead(every.jumped_at) OVER later AS next_at
  FROM commit_jump AS every
  WINDOW later AS (
    PARTITION BY every.offsets_partition, every.group_id, every.topic, every.partition ORDER BY every.offset
  )
) AS jumps
JOIN group_state AS present
  ON present.group_id = jumps.group_id AND present.partition = jumps.offsets_partition
JOIN captures ON captures.partition = jumps.offsets_partition
WHERE jumps.kind = 'lost' AND jumps.cause NOT IN ('group_expired', 'group_deleted')
GROUP BY
  jumps.offsets_partition, jumps.group_id, jumps.incarnation, jumps.member_id, jumps.topic, jumps.cause, jumps.jumped_at
