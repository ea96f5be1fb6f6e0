SELECT group_epoch, unix_millis(bumped_at) AS bumped_ms, cause, assign_lag_ms, rebalance_lag_ms, members,
    partitions_moved, status, superseded_by, history, clock_skew
FROM epoch_timeline
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND group_epoch = :epoch
ORDER BY group_epoch
