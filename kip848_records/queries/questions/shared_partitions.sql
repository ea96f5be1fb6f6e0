-- question = "How many members of a share group read each initialized partition of the topics to which members subscribe now?"
-- needs = []
-- about = "partition of share groups"
-- among = "share_partition_state"
-- empty = "No topic of a share group's members has an initialized partition"
SELECT s.group_id, s.topic, s.number AS partition, count(o.member_id) AS members
FROM (SELECT group_id, partition, incarnation, topic_id, topic, explode(partitions) AS number
      FROM share_partition_state WHERE state = 'initialized' AND to_at IS NULL) s
JOIN (SELECT DISTINCT group_id, partition, incarnation, topic
      FROM (SELECT group_id, partition, incarnation, explode(topics) AS topic
            FROM membership WHERE shares_units(group_type) AND left_offset IS NULL) m) t
  ON t.group_id = s.group_id AND t.partition = s.partition AND t.incarnation = s.incarnation AND t.topic = s.topic
LEFT JOIN ownership o
  ON o.group_id = s.group_id AND o.offsets_partition = s.partition AND o.incarnation = s.incarnation
  AND o.topic_id = s.topic_id AND o.partition = s.number AND o.to_at IS NULL
GROUP BY s.group_id, s.topic, s.number
ORDER BY members, s.group_id, s.topic, s.number LIMIT 20
