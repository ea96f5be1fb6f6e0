-- question = "Which committed offsets of groups with members are of topics to which no member subscribes, and of when are they?"
-- note = "Information, no fault: a subscription that changed, a tool, or a client that assigns partitions itself left them. Brokers remove them after their retention."
-- needs = ["offset_commits"]
-- about = "committed offset"
-- among = "committed_keys"
-- empty = "Members subscribe to all topics of which their groups have committed offsets"
SELECT group_id, topic, topic_partition AS partition, committed, committed_at, owner AS committed_by, partition AS offsets_partition
FROM not_subscribed
ORDER BY group_id, topic, topic_partition, offsets_partition
