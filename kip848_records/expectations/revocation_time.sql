-- name = "revocation_time"
-- sentence = "A member revokes partitions within its own rebalance timeout plus max_seconds_over"
-- severity = "warn"
-- needs = []
-- about = "revocation by a member"
-- [limits.max_seconds_over]
-- default = 10
-- unit = "seconds"
-- reason = "Seconds beyond the member's own rebalance timeout, because timers fire late."

-- The coordinator fences a member that takes longer. If the coordinator moves to another broker, the timer starts again
-- and the member may take longer without a fault (GroupMetadataManager.onLoaded in Kafka): hence only a warning. Before
-- Kafka 3.8 the log has the members' epochs, but not their states.
SELECT
    verdict(is_late, state = 'revoking' AND (is_complete OR (is_late AND NOT has_losses))) AS verdict,
    group_id, member_epoch AS group_epoch, member_id, partition, from_offset AS offset,
    lasted AS lasts_ms,
    concat(
        'expected to revoke partitions within its rebalance timeout of ',
        CASE WHEN rebalance_timeout_ms >= 0 THEN duration(rebalance_timeout_ms) ELSE '?' END, ', ',
        CASE WHEN to_at IS NULL THEN 'has been asked to for' ELSE 'took' END, ' ', span(lasted)
    ) AS message
FROM (
    SELECT intervals.*, lasted > rebalance_timeout_ms + limits.max_seconds_over * 1000 AS is_late
    FROM intervals
    JOIN limits ON limits.group_id = intervals.group_id
    WHERE state = 'revoking' OR (state = 'unknown' AND member_epoch <> -2 AND :dialect <> 'kafka')
) AS asked
