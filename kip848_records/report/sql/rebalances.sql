SELECT began_offset, unix_millis(began_at) AS began_ms, first_epoch, last_epoch, epochs, causes, outcome, duration_ms,
    assigning_ms, not_ready_ms, group_type, delay_ms, unix_millis(expected_at) AS expected_ms, members,
    partitions_moved, blockers, blockers_count, duration_is_minimum, history,
    count(*) OVER () AS total
FROM rebalance
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
ORDER BY began_offset DESC
LIMIT 20
