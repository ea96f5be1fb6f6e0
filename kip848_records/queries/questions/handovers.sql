-- question = "Which members owned the partitions of a topic, one after the other?"
-- note = "A time is empty if the clock of the broker went back."
-- needs = []
-- about = "handover"
-- among = "partition_handover"
-- empty = "No partition of the topic 'payments' got an owner; the topic is an example: run the SQL with yours"
SELECT group_id, topic, partition, acquired_at, from_member, to_member,
       CASE WHEN unowned_ms >= 0 THEN unowned_ms END AS unowned_ms
FROM partition_handover WHERE topic = 'payments' AND to_member IS NOT NULL
ORDER BY group_id, partition, acquired_at, acquired_offset
