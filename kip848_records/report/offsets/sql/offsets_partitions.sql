{# Return what is known of the partitions of the log: where the prefix ends that a time names, and what of it is complete.
   `of_group`: only of :partition. #}
SELECT
    log.partition,
    min(CASE WHEN log.timestamp > timestamp_millis(CAST(:at AS bigint)) THEN log.offset END) AS until_offset,
    max(CASE WHEN log.timestamp <= timestamp_millis(CAST(:at AS bigint)) THEN log.offset END) AS last_in_time,
    unix_millis(min_by(log.timestamp, log.offset)) AS first_ms,
    unix_millis(min(CASE WHEN log.offset >= bases.complete_from THEN log.timestamp END)) AS complete_ms,
    max(bases.complete_from) AS complete_from,
    max(bases.first_lost_offset) AS first_lost,
    max(bases.last_lost_offset) AS last_lost,
    coalesce(max(CASE WHEN bases.log_start_missing THEN 1 ELSE 0 END), 0) AS start_missing,
    unix_millis(max(bases.captured_at)) AS known_to_ms
FROM log
JOIN (SELECT * FROM partition_history AS history WHERE history.is_base) AS bases ON log.partition = bases.partition
WHERE {{ "log.partition = :partition AND " if of_group }}log.content <> 'knowledge' AND log.error_code IS NULL
    AND log.timestamp IS NOT NULL
GROUP BY log.partition
ORDER BY log.partition
