-- How did groups rebalance before and after they changed their protocol?
SELECT c.group_id, c.protocol, c.from_at, c.observed_ms, c.rebalances, c.rebalances_per_hour, c.partitions_moved,
       c.partitions_stopped, c.unowned_min_partition_ms, c.stop_known, c.stop_max_p50_ms
FROM protocol_comparison c
ORDER BY c.group_id, c.partition, c.from_offset LIMIT 100
