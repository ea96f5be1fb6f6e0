-- question = "How long do a group's rebalances take?"
-- needs = []
-- about = "rebalance"
-- among = "rebalance"
-- empty = "No rebalance is measured from beginning to end"
SELECT group_id, count(*) AS rebalances, percentile(duration_ms, 0.5) AS p50_ms,
       round(percentile(duration_ms, 0.95)) AS p95_ms, round(percentile(duration_ms, 0.99)) AS p99_ms
FROM rebalance
WHERE is_measured
GROUP BY group_id ORDER BY p95_ms DESC, group_id
