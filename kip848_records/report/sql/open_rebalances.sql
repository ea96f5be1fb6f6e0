SELECT group_id, partition, incarnation, began_offset, unix_millis(began_at) AS began_ms, duration_ms, assigning_ms, not_ready_ms, group_type,
    delay_ms, unix_millis(expected_at) AS expected_ms, epochs, causes, blockers
FROM rebalance
WHERE outcome = :open
ORDER BY group_id, partition, began_offset
