-- The topics of a share group by the state of their partitions. Of initialized ones: those that no member has.
WITH {chosen},
topics AS (
  SELECT shares.partition, shares.group_id, incarnation, topic_id, coalesce(topic, topic_id) AS place, state, partitions,
    from_at, from_offset AS at_offset, history
  FROM share_partition_state AS shares
  JOIN chosen ON shares.partition = chosen.partition AND shares.group_id = chosen.group_id
  WHERE to_at IS NULL
),
initialized AS (
  SELECT partition, group_id, incarnation, topic_id, from_at, explode(partitions) AS number
  FROM topics WHERE state = 'initialized'
),
owners AS (
  SELECT offsets_partition, group_id, incarnation, topic_id, partition AS number, max(to_at) AS ended_at,
    count(*) - count(to_at) AS present
  FROM ownership WHERE group_type = 'share'
  GROUP BY offsets_partition, group_id, incarnation, topic_id, partition
),
free AS (
  SELECT initialized.partition, initialized.group_id, initialized.incarnation, initialized.topic_id,
    array_join(array_sort(collect_list(initialized.number)), ' ') AS free,
    unix_millis(min(greatest(from_at, ended_at))) AS free_since_ms
  FROM initialized
  LEFT JOIN owners ON initialized.partition = owners.offsets_partition AND initialized.group_id = owners.group_id
    AND initialized.incarnation = owners.incarnation AND initialized.topic_id = owners.topic_id
    AND initialized.number = owners.number
  WHERE coalesce(present, 0) = 0
  GROUP BY initialized.partition, initialized.group_id, initialized.incarnation, initialized.topic_id
),
found AS (
  SELECT topics.partition, topics.group_id, topics.incarnation, place, state, unix_millis(from_at) AS from_ms, at_offset,
    history, array_join(array_sort(partitions), ' ') AS numbers, CASE WHEN state = 'initialized' THEN free END AS free,
    CASE WHEN state = 'initialized' THEN free_since_ms END AS free_since_ms
  FROM topics
  LEFT JOIN free ON topics.partition = free.partition AND topics.group_id = free.group_id
    AND topics.incarnation = free.incarnation AND topics.topic_id = free.topic_id
)
SELECT *
FROM (
  SELECT *, count(*) OVER (PARTITION BY partition, group_id) AS total,
    row_number() OVER (
      PARTITION BY partition, group_id ORDER BY CASE WHEN state = 'initialized' THEN 1 ELSE 0 END, free_since_ms DESC,
        place, state, incarnation
    ) AS nth
  FROM found
) AS numbered
WHERE nth <= :limit
ORDER BY partition, group_id, nth
