-- How many members of a share group read each initialized partition now?
SELECT s.group_id, s.topic, s.number AS partition, count(o.member_id) AS members
FROM (SELECT group_id, partition, incarnation, topic_id, coalesce(topic, topic_id) AS topic, explode(partitions) AS number
      FROM share_partition_state WHERE state = 'initialized' AND to_at IS NULL) s
LEFT JOIN ownership o
  ON o.group_id = s.group_id AND o.offsets_partition = s.partition AND o.incarnation = s.incarnation
  AND o.topic_id = s.topic_id AND o.partition = s.number AND o.to_at IS NULL
GROUP BY s.group_id, s.topic, s.number
ORDER BY members, s.group_id, s.topic, s.number LIMIT 20
