SELECT group_epoch, unix_millis(bumped_at) AS bumped_ms, cause, assign_lag_ms, members, partitions_moved, status, superseded_by,
    clock_skew, CASE WHEN status = 'open' THEN ms_between(bumped_at, captured_at) ELSE rebalance_lag_ms END AS total_ms
FROM epoch_timeline AS epochs
LEFT JOIN captures ON captures.partition = epochs.partition
WHERE group_id = :group AND epochs.partition = :partition AND incarnation = :incarnation AND group_epoch = :epoch
ORDER BY group_epoch
