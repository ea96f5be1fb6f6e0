SELECT began_offset, unix_millis(began_at) AS began_ms, first_epoch, last_epoch, causes, outcome, duration_ms, assigning_ms,
    members, partitions_moved, blockers, duration_is_minimum, clock_skew, count(*) OVER () AS total
FROM rebalance
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
ORDER BY began_offset DESC
LIMIT 20
