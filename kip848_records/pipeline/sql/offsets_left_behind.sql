-- The last committed offset of each partition that a group left behind when it moved, and the first one that it committed
-- since; null: none.
SELECT moved.group_id, before.topic, before.partition, before.committed,
  since.committed AS first_committed
FROM {moved} AS moved
JOIN (
  SELECT offsets_partition, group_id, topic, partition, max_by(last_offset, last_commit_at) AS committed
  FROM {progress} AS progress
  WHERE last_offset IS NOT NULL
  GROUP BY offsets_partition, group_id, topic, partition
) AS before ON before.offsets_partition = moved.partition AND before.group_id = moved.group_id
LEFT JOIN (
  SELECT offsets_partition, group_id, topic, partition, min_by(first_offset, first_commit_at) AS committed
  FROM {progress} AS progress
  WHERE first_offset IS NOT NULL
  GROUP BY offsets_partition, group_id, topic, partition
) AS since
  ON since.offsets_partition = moved.moved_to AND since.group_id = moved.group_id AND since.topic = before.topic
  AND since.partition = before.partition
ORDER BY moved.group_id, before.topic, before.partition
