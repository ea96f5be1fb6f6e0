-- question = "Which members owned each partition, one after the other?"
-- note = "A time is empty if the clock of the broker went back. For one topic, add a condition to the SQL."
-- needs = []
-- about = "handover"
-- among = "partition_handover"
-- empty = "No partition got an owner"
SELECT group_id, topic, partition, acquired_at, from_member, to_member,
       CASE WHEN unowned_ms >= 0 THEN unowned_ms END AS unowned_ms
FROM partition_handover WHERE to_member IS NOT NULL
ORDER BY group_id, topic, partition, acquired_at, acquired_offset
