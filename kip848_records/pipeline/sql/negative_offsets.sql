-- Partitions for which a negative offset was committed while their group lives on, with the host of who owned them.
SELECT
  stays.offsets_partition, stays.group_id, stays.incarnation, stays.owner, stays.topic, stays.partition, stays.member_id,
  stays.instance_id, stays.client_id, hosts.client_host, stays.acquired_offset, stays.negative_offset,
  stays.before_negative, unix_millis(stays.negative_from) AS from_ms, unix_millis(stays.negative_until) AS until_ms,
  unix_millis(captures.captured_at) AS captured_ms
FROM commit_progress AS stays
JOIN group_state AS present ON present.group_id = stays.group_id AND present.partition = stays.offsets_partition
JOIN captures ON captures.partition = stays.offsets_partition
LEFT JOIN member_hosts AS hosts
  ON hosts.partition = stays.offsets_partition AND hosts.group_id = stays.group_id AND hosts.member_id = stays.member_id
WHERE stays.negative_commits > 0 AND stays.negative_from IS NOT NULL AND captures.captured_at IS NOT NULL
ORDER BY stays.offsets_partition, stays.group_id, stays.member_id, stays.topic, stays.partition
