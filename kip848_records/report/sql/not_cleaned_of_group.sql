-- The partition of the group, if the cleaner does not come to it, though it does to others: of the copy with most records.
SELECT
    now.partition, unix_millis(now.dirty_since) AS since_ms, now.dirty_ms, now.dirty_records, now.dirty_keys,
    now.dirty_bytes
FROM compaction_now AS now
JOIN group_state AS present ON present.partition = now.partition AND present.group_id = :group
WHERE now.state = 'not_cleaned'
ORDER BY now.dirty_records DESC, now.partition, now.copy, now.nth
LIMIT 1
