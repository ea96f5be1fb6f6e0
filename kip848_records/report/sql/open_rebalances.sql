SELECT rebalance.group_id, rebalance.partition, rebalance.incarnation, rebalance.began_offset,
    unix_millis(began_at) AS began_ms, duration_ms, assigning_ms, not_ready_ms, rebalance.group_type, delay_ms,
    unix_millis(expected_at) AS expected_ms, epochs, causes, blockers,
    coalesce(present.is_assigning, false) AS is_assigning,
    coalesce(present.is_not_ready, false) AS is_not_ready, coalesce(gone.members_left, 0) AS members_left
FROM rebalance
LEFT JOIN assigning_now AS present
    ON present.partition = rebalance.partition AND present.group_id = rebalance.group_id
    AND present.incarnation = rebalance.incarnation AND present.group_type = rebalance.group_type
LEFT JOIN left_meanwhile AS gone
    ON gone.partition = rebalance.partition AND gone.group_id = rebalance.group_id
    AND gone.incarnation = rebalance.incarnation AND gone.began_offset = rebalance.began_offset
WHERE outcome = :open
ORDER BY rebalance.group_id, rebalance.partition, rebalance.began_offset
