-- The partitions that the cleaner does not come to, though it does to others, those with most records first. total: how many.
SELECT
    partition, unix_millis(dirty_since) AS since_ms, dirty_ms, dirty_records, dirty_keys, dirty_bytes,
    count(*) OVER () AS total
FROM compaction_now
WHERE state = 'not_cleaned'
ORDER BY dirty_records DESC, partition, copy, nth
LIMIT 3
