{# Each partition of groups whose records are in several: when the group's first record was written there, and its last
   one that is no tombstone. #}
SELECT found.group_id, found.partition, found.first_ms, found.last_ms
FROM (
    SELECT places.*, count(*) OVER (PARTITION BY places.group_id) AS partitions
    FROM (
        SELECT
            log.group_id, log.partition, unix_millis(min(log.timestamp)) AS first_ms,
            unix_millis(max(CASE WHEN log.value IS NOT NULL THEN log.timestamp END)) AS last_ms
        FROM {records} AS log
        WHERE {{ is_record }} AND log.group_id IS NOT NULL AND log.timestamp IS NOT NULL
        GROUP BY log.group_id, log.partition
    ) AS places
) AS found
WHERE found.partitions > 1
ORDER BY found.group_id, found.last_ms, found.partition
