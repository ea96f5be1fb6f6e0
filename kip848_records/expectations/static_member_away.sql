-- name = "static_member_away"
-- sentence = "A static member that went away returns, or is removed, within max_seconds"
-- severity = "warn"
-- [limits.max_seconds]
-- default = 120
-- unit = "seconds"
-- reason = "The coordinator waits for a session: 45 s by default, and at most 60 s unless brokers allow more."

SELECT
    verdict(is_late, state = 'away' AND (is_complete OR (is_late AND NOT has_losses))) AS verdict,
    CAST(NULL AS string) AS severity,
    group_id, CAST(NULL AS int) AS group_epoch, member_id, partition, from_offset AS offset,
    concat(
        'expected static member ', text(instance_id), ' to be away for at most ', max_seconds_text, ' s, ',
        CASE WHEN to_at IS NULL THEN 'has been' ELSE 'was' END, ' away for ', span(lasted)
    ) AS message
FROM (
    SELECT intervals.*, limits.max_seconds_text, lasted > limits.max_seconds * 1000 AS is_late
    FROM intervals
    JOIN limits ON limits.group_id = intervals.group_id
    WHERE state = 'away' OR member_epoch = -2
) AS absent
