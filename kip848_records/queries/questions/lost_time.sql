-- question = "Which groups lost most by rebalancing, and to whom: the time for which partitions had no owner?"
-- note = "In partition-seconds: ten partitions without an owner for a second are ten. Without a pattern: other rebalances."
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "No group is known to have lost time"
SELECT
  group_id, pattern, coalesce(instance_id, client_id, member_id, what) AS subject, client_host, is_present, rebalances,
  CAST(floor(lost_ms / 1000) AS bigint) AS partition_seconds, is_minimum,
  CAST(floor(empty_ms / 1000) AS bigint) AS empty_seconds
FROM lost_time WHERE lost_ms > 0 OR empty_ms > 0
ORDER BY lost_ms DESC, empty_ms DESC, group_id, partition, pattern, instance_id, client_id, client_host, member_id, what
