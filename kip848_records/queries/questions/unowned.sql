-- question = "Which partitions were without an owner for longest, while they were in some member's target?"
-- needs = []
-- about = "handover"
-- among = "partition_handover"
-- empty = "No partition was without an owner while a member was to have it"
SELECT group_id, topic, partition, released_at, acquired_at, wanted_ms, to_member IS NULL AS without_new_owner
FROM partition_handover
WHERE wanted_ms > 0 AND (history = 'observed' OR history = 'right_censored' AND to_member IS NULL) AND NOT clock_skew
ORDER BY wanted_ms DESC, group_id, topic, partition, released_at LIMIT 10
