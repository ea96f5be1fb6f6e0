-- The groups that began in another partition of the log when the topic got more of them.
SELECT partition, group_id, moved_from, unix_millis(moved_at) AS moved_ms
FROM group_state
WHERE moved_from IS NOT NULL
