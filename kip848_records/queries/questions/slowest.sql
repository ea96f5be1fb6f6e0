-- question = "Which rebalances of the last 7 days were the slowest?"
-- needs = []
-- about = "rebalance"
-- among = "rebalance"
-- empty = "No rebalance of the last 7 days is measured from beginning to end"
SELECT group_id, first_epoch, last_epoch, array_join(causes, ', ') AS causes, began_at, duration_ms, assigning_ms
FROM rebalance
WHERE is_measured
  AND began_at > (SELECT max_by(captured_at, run) FROM audit_runs) - INTERVAL 7 DAYS
ORDER BY duration_ms DESC, group_id, began_offset LIMIT 10
