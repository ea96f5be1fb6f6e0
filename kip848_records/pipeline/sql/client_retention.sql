-- Partitions of groups that live, whose last commit has a retention of its own: its client asked for it.
SELECT
  stays.offsets_partition, stays.group_id, stays.incarnation, stays.topic, stays.partition, stays.member_id,
  stays.instance_id, stays.client_id, hosts.client_host, stays.retention_ms, stays.acquired_offset,
  unix_millis(stays.first_commit_at) AS first_ms, unix_millis(captures.captured_at) AS captured_ms
FROM (
  SELECT
    commit_progress.*,
    row_number() OVER (
      PARTITION BY offsets_partition, group_id, topic, partition ORDER BY last_commit_at DESC, acquired_offset DESC
    ) AS nth
  FROM commit_progress
  WHERE last_commit_at IS NOT NULL
) AS stays
JOIN group_state AS present
  ON present.group_id = stays.group_id AND present.partition = stays.offsets_partition
  AND present.incarnation = stays.incarnation
JOIN captures ON captures.partition = stays.offsets_partition
LEFT JOIN member_hosts AS hosts
  ON hosts.partition = stays.offsets_partition AND hosts.group_id = stays.group_id AND hosts.member_id = stays.member_id
WHERE stays.nth = 1 AND stays.retention_ms IS NOT NULL AND captures.captured_at IS NOT NULL
ORDER BY stays.offsets_partition, stays.group_id, stays.topic, stays.partition
