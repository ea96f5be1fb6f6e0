-- The slowest finished rebalance of each group that had members before, the slowest first.
SELECT partition, group_id, group_type, began_offset, unix_millis(began_at) AS began_at_ms, duration_ms, assigning_ms, first_epoch,
  last_epoch, epochs, causes, members, members_waited
FROM (
  SELECT *, row_number() OVER (PARTITION BY partition, group_id ORDER BY duration_ms DESC, began_offset) AS nth
  FROM rebalance
  WHERE is_measured
) AS finished
WHERE nth = 1
ORDER BY duration_ms DESC, group_id, partition
LIMIT :slowest
