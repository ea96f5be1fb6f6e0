-- name = "generations_per_hour"
-- sentence = "A classic group rebalances at most max_rebalances times in any hour"
-- severity = "warn"
-- [limits.max_rebalances]
-- default = 60
-- unit = "rebalances"
-- reason = "Rebalances in any hour: one a minute. Each one stops the members of an eager group. A rolling restart of 30 members takes 60."

-- The next rounds of a cooperative rebalance are not counted. Generations are counted in a sliding window, and never
-- extrapolated from a shorter log.
SELECT
    verdict(in_hour > max_rebalances, has_full_history OR in_hour > max_rebalances) AS verdict,
    CAST(NULL AS string) AS severity,
    busiest.group_id, generation AS group_epoch, CAST(NULL AS string) AS member_id, busiest.partition,
    busiest.offset_ AS offset,
    concat('expected at most ', max_rebalances_text, ' rebalances in an hour, seen ', text(in_hour)) AS message
FROM (
    SELECT
        counted_.*,
        row_number() OVER (PARTITION BY partition, group_id ORDER BY in_hour DESC, generation DESC, offset_ DESC) AS nth
    FROM (
        SELECT
            partition, group_id, generation, generations.offset AS offset_,
            count(*) OVER (
                PARTITION BY partition, group_id ORDER BY unix_seconds(completed_at)
                RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
            ) AS in_hour
        FROM classic_generation AS generations
        WHERE cause NOT IN ('created', 'emptied', 'downgraded', 'follow_up')
    ) AS counted_
) AS busiest
JOIN limits ON limits.group_id = busiest.group_id
LEFT JOIN groups ON groups.partition = busiest.partition AND groups.group_id = busiest.group_id
WHERE nth = 1
