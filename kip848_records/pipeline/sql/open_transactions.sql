{# Open transactions with what they block in their partition of the log, and their age. #}
SELECT
    found.*,
    blocked.blocks_from, blocked.records_behind,
    unix_millis(partitions.captured_at) - unix_millis(found.first_at) AS age_ms,
    CASE WHEN found.is_doubtful OR partitions.last_lost_offset > found.last_offset THEN 'unknown' ELSE 'open' END
        AS status,
    partitions.captured_at
FROM {found} AS found
JOIN (
    SELECT starts.offsets_partition, starts.blocks_from, count(*) AS records_behind
    FROM (
        SELECT found.offsets_partition, min(found.first_offset) AS blocks_from
        FROM {found} AS found
        GROUP BY found.offsets_partition
    ) AS starts
    JOIN (SELECT log.partition, log.offset FROM {log} AS log WHERE {{ is_record }}) AS records
        ON records.partition = starts.offsets_partition AND records.offset >= starts.blocks_from
    GROUP BY starts.offsets_partition, starts.blocks_from
) AS blocked ON blocked.offsets_partition = found.offsets_partition
LEFT JOIN {partitions} AS partitions ON partitions.partition = found.offsets_partition
