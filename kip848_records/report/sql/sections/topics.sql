-- The topics of a share group by the state of their partitions. free: initialized partitions that no member has, although
-- a present member subscribes to their topic; free_since_ms: since when no member has any of them.
WITH topics AS (
  SELECT shares.partition, shares.group_id, incarnation, topic_id, coalesce(topic, topic_id) AS place, state, partitions,
    from_at, from_offset AS at_offset, history
  FROM share_partition_state AS shares
  JOIN chosen ON shares.partition = chosen.partition AND shares.group_id = chosen.group_id
  WHERE to_at IS NULL
),
free AS (
  SELECT partition, group_id, incarnation, topic_id,
    array_join(array_sort(collect_list(CASE WHEN owners = 0 THEN number END)), ' ') AS free,
    unix_millis(max(CASE WHEN owners = 0 THEN free_since END)) AS free_since_ms
  FROM subscribed_shares AS shares
  GROUP BY partition, group_id, incarnation, topic_id
)
SELECT topics.partition, topics.group_id, topics.incarnation, place, state, unix_millis(from_at) AS from_ms, at_offset,
  ms_between(from_at, captures.captured_at) AS lasts_ms,
  history, array_join(array_sort(partitions), ' ') AS numbers, free.topic_id IS NOT NULL AS is_subscribed,
  CASE WHEN state = 'initialized' THEN free END AS free,
  CASE WHEN state = 'initialized' THEN free_since_ms END AS free_since_ms,
  CASE WHEN state = 'initialized' THEN unix_millis(captures.captured_at) - free_since_ms END AS free_ms
FROM topics
LEFT JOIN captures ON captures.partition = topics.partition
LEFT JOIN free ON topics.partition = free.partition AND topics.group_id = free.group_id
  AND topics.incarnation = free.incarnation AND topics.topic_id = free.topic_id
