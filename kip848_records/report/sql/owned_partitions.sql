-- How many owned partitions are in each state of consumption; 0 of those that say that something is wrong, if any partition
-- has an owner.
SELECT state, CAST(sum(partitions) AS bigint) AS partitions
FROM (
    SELECT state, 1 AS partitions FROM consumption_now
    UNION ALL SELECT alarms.state, 0
    FROM (SELECT 'suspected' AS state UNION ALL SELECT 'blocked_by_transaction') AS alarms
    WHERE EXISTS (SELECT 1 FROM consumption_now)
) AS counted
GROUP BY state
ORDER BY state
