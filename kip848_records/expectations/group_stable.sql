-- name = "group_stable"
-- sentence = "A group does not rebalance for longer than max_seconds, apart from NotReady (streams_ready)"
-- severity = "error"
-- needs = []
-- about = "group"
-- [limits.max_seconds]
-- default = 600
-- unit = "seconds"
-- reason = "A member may take 5 minutes to revoke partitions (max.poll.interval.ms), and the next member waits for it."

-- Groups that wait only for absent static members do not count (stuck_now.is_away). If compaction hid records, the state
-- can only have lasted longer.
SELECT
    verdict(
        CASE WHEN is_behind THEN is_late ELSE false END,
        state <> 'unknown' AND (coalesce(is_behind AND is_late, false) OR NOT is_behind OR history <> 'censored')
    ) AS verdict,
    group_id, group_epoch, CAST(NULL AS string) AS member_id, partition, aged.offset, is_behind AS names_blocker, age AS lasts_ms,
    CASE WHEN state = 'unknown'
        THEN concat('expected Stable within ', max_seconds_text, ', the log does not show it')
        ELSE concat('expected Stable within ', max_seconds_text, ', ', text(seen), ' for ', at_least(age))
    END AS message
FROM (
    SELECT
        group_state.*, limits.max_seconds_text,
        CASE WHEN is_hidden THEN 'rebalancing' ELSE group_state.state END AS seen,
        coalesce(limited_by = 'group_stable', false) AS is_behind,
        CASE WHEN NOT is_stuck THEN lasted_ms(since, captured_at) WHEN limited_ms >= 0 THEN limited_ms END AS age,
        CASE WHEN limited_ms >= 0 THEN limited_ms END > limits.max_seconds * 1000 AS is_late
    FROM group_state
    JOIN limits ON limits.group_id = group_state.group_id
    JOIN stuck_now ON stuck_now.partition = group_state.partition AND stuck_now.group_id = group_state.group_id
) AS aged
