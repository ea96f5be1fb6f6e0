-- name = "share_initialized"
-- sentence = "Partitions of a share group are initialized within max_seconds"
-- severity = "warn"
-- [limits.max_seconds]
-- default = 300
-- unit = "seconds"
-- reason = "No member gets a partition that is not initialized. The broker retries after group.share.initialize.retry.interval.ms."

SELECT
    verdict(lasted > max_seconds * 1000, lasted > max_seconds * 1000 OR history IN ('observed', 'right_censored')) AS verdict,
    CAST(NULL AS string) AS severity,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition, from_offset AS offset,
    concat(
        'expected ', text(topic), ' to be initialized within ', max_seconds_text, ', ',
        CASE WHEN to_at IS NULL THEN 'has been' ELSE 'was' END, ' initializing for ', at_least(lasted)
    ) AS message
FROM (
    SELECT states.*, max_seconds, max_seconds_text, lasted_ms(from_at, coalesce(to_at, captures.captured_at)) AS lasted
    FROM share_partition_state AS states
    JOIN limits ON limits.group_id = states.group_id
    LEFT JOIN captures ON captures.partition = states.partition
    WHERE state = 'initializing'
) AS timed
