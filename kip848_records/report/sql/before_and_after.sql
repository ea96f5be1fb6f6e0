-- Those first in which partitions had no owner for longest, then the latest.
SELECT protocol, partition, unix_millis(from_at) AS from_ms, from_offset, observed_ms, rebalances, rounds, rebalances_per_hour,
    partitions_moved, partitions_stopped, unowned_min_partition_ms, stop_known, stop_max_p50_ms, stop_max_p95_ms,
    history,
    count(*) OVER () AS total
FROM protocol_comparison
WHERE group_id = :group
ORDER BY coalesce(unowned_min_partition_ms, 0) DESC, from_at DESC, from_offset DESC, partition
LIMIT 20
