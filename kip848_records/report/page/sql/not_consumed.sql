-- Owned partitions of all groups that nobody seems to consume, those that stand still longest first: a row for those of a
-- topic that one member owns. `total`: how many partitions there are in all.
SELECT now.offsets_partition AS partition, now.group_id, topic, state, evidence,
  coalesce(max(instance_id), max(client_id), member_id) AS owner, min(committed) AS least_committed,
  max(committed) AS most_committed, max(silent_ms) AS silent_ms, max(ahead_by) AS ahead_by,
  max(ahead_group) AS ahead_group, max(producer_id) AS producer_id, count(*) AS partitions,
  sum(count(*)) OVER () AS total, array_join(array_sort(collect_list(now.partition)), ' ') AS numbers
FROM consumption_now AS now
WHERE state IN ('suspected', 'blocked_by_transaction')
GROUP BY now.offsets_partition, now.group_id, incarnation, topic, member_id, state, evidence
ORDER BY silent_ms DESC, now.group_id, topic, member_id, state, evidence
LIMIT :members
