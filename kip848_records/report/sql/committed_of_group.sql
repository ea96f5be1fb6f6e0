-- The partitions with a committed offset of the group, and when the last commit was, by partition of the log.
SELECT partition AS in_partition, committed, unix_millis(last_commit_at) AS last_ms
FROM committed_now
WHERE group_id = :group
