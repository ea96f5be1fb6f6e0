-- Owned partitions of which consumption_now says that something is wrong, with the host of the owner.
SELECT
  now.offsets_partition, now.group_id, now.incarnation, now.topic, now.partition, now.member_id, now.instance_id,
  now.client_id, hosts.client_host, now.acquired_offset, now.committed, now.state, now.evidence, now.ahead_by,
  now.ahead_group, now.lag, now.producer_id, unix_millis(now.captured_at) AS captured_ms, now.silent_ms, now.min_silence_ms,
  now.need_ms, unix_millis(now.waits_since) AS waits_since, 
  least(unix_millis(now.pending_since), unix_millis(now.captured_at)) AS pending_since
FROM consumption_now AS now
LEFT JOIN (
  SELECT partition, group_id, member_id, max(client_host) AS client_host
  FROM membership
  WHERE left_at IS NULL
  GROUP BY partition, group_id, member_id
) AS hosts
  ON hosts.partition = now.offsets_partition AND hosts.group_id = now.group_id AND hosts.member_id = now.member_id
WHERE now.state IN ('suspected', 'blocked_by_transaction')
ORDER BY now.offsets_partition, now.group_id, now.member_id, now.topic, now.partition
