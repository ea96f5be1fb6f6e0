-- The bill of rebalancing: for how long partitions of a group had no owner that a member was to have, by what caused it.
-- A row for each subject of each pattern, and one without a pattern for the other rebalances of a group. No time counts
-- twice: the sum over a group is that of its rebalances and of the gaps while static members were away. is_minimum: a
-- part of it is not known, or it began before the history does. Times are in partition-milliseconds, but for empty_ms.
SELECT
    group_id, partition, pattern, subject.instance_id, subject.client_id, subject.client_host, subject.member_id,
    coalesce(subject.what, subject.regex) AS what, count(*) AS episodes, max(is_present) AS is_present,
    sum(CAST(coalesce(lost_ms, 0) AS double) + coalesce(away_ms, 0)) AS lost_ms,
    sum(CAST(empty_ms AS double)) AS empty_ms, CAST(sum(rebalances) AS bigint) AS rebalances,
    bool_or(at_least OR (unowned_ms IS NULL AND rebalances IS NOT NULL)) AS is_minimum
FROM diagnosis
WHERE group_id IS NOT NULL
GROUP BY
    group_id, partition, pattern, subject.instance_id, subject.client_id, subject.client_host, subject.member_id,
    coalesce(subject.what, subject.regex)
UNION ALL
SELECT
    every.group_id, every.partition, NULL, NULL, NULL, NULL, NULL, NULL, 0, false,
    every.unowned_ms - coalesce(told.lost_ms, 0), NULL, every.rebalances, every.is_minimum
FROM (
    SELECT
        group_id, partition, sum(CAST(coalesce(unowned_ms, 0) AS double)) AS unowned_ms, count(*) AS rebalances,
        bool_or(unowned_ms IS NULL OR history <> 'observed') AS is_minimum
    FROM rebalance
    GROUP BY group_id, partition
) AS every
LEFT JOIN (
    SELECT group_id, partition, sum(CAST(coalesce(lost_ms, 0) AS double)) AS lost_ms
    FROM diagnosis
    GROUP BY group_id, partition
) AS told ON told.group_id = every.group_id AND told.partition = every.partition
