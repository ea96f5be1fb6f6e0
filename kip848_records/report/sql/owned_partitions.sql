-- How many owned partitions are in each state of consumption; 0 of those that say that something is wrong.
SELECT state, CAST(sum(partitions) AS bigint) AS partitions
FROM (
    SELECT state, 1 AS partitions FROM consumption_now
    UNION ALL SELECT 'suspected', 0
    UNION ALL SELECT 'blocked_by_transaction', 0
) AS counted
GROUP BY state
ORDER BY state
