-- commit_jump, and whether it shows only the order of commits (is_late): the owner before committed after it gave the
-- partition up, so nobody reads again.
SELECT
  jumps.*,
  jumps.context = 'previous_owner'
    OR (jumps.context = 'owner_change' AND coalesce(late.late_commits, 0) > 0) AS is_late
FROM commit_jump AS jumps
LEFT JOIN (
  SELECT offsets_partition, group_id, incarnation, topic, partition, member_id, sum(late_commits) AS late_commits
  FROM commit_progress
  WHERE owner = 'member'
  GROUP BY offsets_partition, group_id, incarnation, topic, partition, member_id
) AS late
  ON late.offsets_partition = jumps.offsets_partition AND late.group_id = jumps.group_id
  AND late.incarnation = jumps.incarnation AND late.topic = jumps.topic AND late.partition = jumps.partition
  AND late.member_id = jumps.previous_member_id
