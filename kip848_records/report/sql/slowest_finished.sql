SELECT group_id, group_type, duration_ms, epochs, causes, first_epoch, last_epoch
FROM (
    SELECT *, row_number() OVER (PARTITION BY group_id, partition ORDER BY duration_ms DESC, began_offset) AS nth
    FROM rebalance
    WHERE is_measured
) AS rebalances
WHERE nth = 1
ORDER BY duration_ms DESC, group_id, partition
LIMIT 3
