-- question = "How did groups rebalance before and after they changed their protocol? Groups with most time without an owner come first."
-- note = "Do not compare the time without an owner: a classic group hides its join phase. Stops are estimates by offset commits."
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "No group changed its protocol"
-- [without]
-- offset_commits = "for how long partitions stopped is not estimated"
SELECT c.group_id, c.protocol, c.from_at, CASE WHEN c.observed_ms >= 0 THEN c.observed_ms END AS observed_ms,
       c.rebalances, c.rebalances_per_hour, c.partitions_moved, c.partitions_stopped,
       CASE WHEN c.unowned_min_partition_ms >= 0 THEN c.unowned_min_partition_ms END AS unowned_min_partition_ms,
       c.stop_known, CASE WHEN c.stop_max_p50_ms >= 0 THEN c.stop_max_p50_ms END AS estimated_stop_p50_ms, c.history
FROM protocol_comparison c
JOIN (
  SELECT group_id, max(coalesce(unowned_min_partition_ms, 0)) AS most_ms FROM protocol_comparison GROUP BY group_id
) AS g ON g.group_id = c.group_id
ORDER BY g.most_ms DESC, c.group_id, c.partition, c.from_offset
LIMIT 100
