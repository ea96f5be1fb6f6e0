SELECT blockers.group_id, blockers.partition, blockers.incarnation, blockers.member_id, states.state,
    states.duration_ms AS state_ms, states.is_classic, stays.rebalance_timeout_ms, lags.member_id IS NOT NULL AS is_blocked
FROM (
    SELECT group_id, partition, incarnation, began_offset, blocker.member_id AS member_id
    FROM (
        SELECT group_id, partition, incarnation, began_offset, explode(blockers) AS blocker
        FROM rebalance
        WHERE outcome = :open
    ) AS exploded
) AS blockers
JOIN (SELECT * FROM member_state_timeline WHERE to_at IS NULL) AS states
    ON states.group_id = blockers.group_id AND states.partition = blockers.partition
    AND states.incarnation = blockers.incarnation AND states.member_id = blockers.member_id
LEFT JOIN (SELECT * FROM membership WHERE left_offset IS NULL) AS stays
    ON stays.group_id = blockers.group_id AND stays.partition = blockers.partition
    AND stays.incarnation = blockers.incarnation AND stays.member_id = blockers.member_id
LEFT JOIN (
    SELECT DISTINCT group_id, partition, incarnation, member_id
    FROM rebalance_lag
    WHERE status = :open AND NOT superseded AND size(blocked_by) > 0
) AS lags
    ON lags.group_id = blockers.group_id AND lags.partition = blockers.partition
    AND lags.incarnation = blockers.incarnation AND lags.member_id = blockers.member_id
ORDER BY blockers.group_id, blockers.partition, blockers.incarnation, blockers.member_id, state_ms
