SELECT states.member_id, states.state, states.member_epoch, states.is_classic, stays.client_id, stays.client_host,
    stays.instance_id, unix_millis(lags.behind_since) AS behind_ms, lags.awaited
FROM (
    SELECT member_id, state, member_epoch, is_classic
    FROM member_state_timeline
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND to_at IS NULL
) AS states
LEFT JOIN (
    SELECT member_id, client_id, client_host, instance_id
    FROM membership
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND left_offset IS NULL
) AS stays ON stays.member_id = states.member_id
LEFT JOIN (
    SELECT member_id, behind_since, awaited
    FROM rebalance_lag
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND status = :open
        AND NOT superseded
) AS lags ON lags.member_id = states.member_id
ORDER BY states.member_id
