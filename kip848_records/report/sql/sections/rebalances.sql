SELECT rebalance.partition, rebalance.group_id, incarnation, group_type, unix_millis(began_at) AS began_at_ms, began_offset,
  first_epoch, last_epoch, causes, unix_millis(ended_at) AS ended_at_ms, outcome, duration_ms, members, members_waited,
  partitions_moved, assigning_ms, outcome = 'open' OR history <> 'observed' OR duration_is_minimum AS is_minimum, history,
  clock_skew
FROM rebalance JOIN chosen ON rebalance.partition = chosen.partition AND rebalance.group_id = chosen.group_id
