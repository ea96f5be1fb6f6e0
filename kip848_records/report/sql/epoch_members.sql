SELECT member_id, client_id, client_host, lag_ms, revoke_ms, wait_ms, status, blocked_by, clock_skew
FROM rebalance_lag
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND group_epoch = :epoch
ORDER BY lag_ms DESC, member_id
LIMIT 101
