SELECT periods.partition, periods.group_id, incarnation, protocol, unix_millis(from_at) AS from_ms,
  from_offset AS at_offset, observed_ms, rebalances, rounds, rebalances_per_hour, partitions_moved, partitions_stopped,
  unowned_min_partition_ms, stop_known, stop_max_p50_ms, stop_max_p95_ms, history
FROM protocol_comparison AS periods
JOIN chosen ON periods.partition = chosen.partition AND periods.group_id = chosen.group_id
