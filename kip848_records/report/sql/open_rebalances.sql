SELECT group_id, partition, incarnation, began_offset, duration_ms, assigning_ms, epochs, causes, blockers
FROM rebalance
WHERE outcome = :open AND group_type <> 'classic'
ORDER BY group_id, partition, began_offset
