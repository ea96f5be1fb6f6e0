-- The topics to which no member subscribes, and of which the group has committed offsets.
SELECT found.partition, found.group_id, 0 AS incarnation, topic AS place, min(committed) AS least_committed,
  max(committed) AS most_committed, unix_millis(max(committed_at)) AS committed_ms,
  ms_between(max(committed_at), max(captured_at)) AS ago_ms, max_by(owner, committed_at) AS owner,
  array_join(array_sort(collect_list(topic_partition)), ' ') AS numbers
FROM not_subscribed AS found
JOIN chosen ON found.partition = chosen.partition AND found.group_id = chosen.group_id
LEFT JOIN captures ON captures.partition = found.partition
GROUP BY found.partition, found.group_id, topic
