-- Which members owned the partitions of a topic, one after the other?
SELECT group_id, topic, partition, acquired_at, from_member, to_member, unowned_ms
FROM partition_handover WHERE topic = 'payments' AND to_member IS NOT NULL
ORDER BY group_id, partition, acquired_at, acquired_offset
