-- name = "eager_rebalances"
-- sentence = "An eager group of more than min_partitions partitions rebalances at most max_rebalances times in any hour"
-- severity = "warn"
-- needs = []
-- about = "rebalance of an eager group of more than min_partitions partitions"
-- rows_of = "classic_generation"
-- [limits.min_partitions]
-- default = 50
-- unit = "partitions"
-- reason = "Each rebalance of an eager group stops all its partitions; for a few partitions it takes no time."
-- [limits.max_rebalances]
-- default = 10
-- unit = "rebalances"
-- reason = "Rebalances in any hour. A rolling restart of five members takes ten."

SELECT
    verdict(eager > max_rebalances, eager > max_rebalances OR (groups.has_full_history AND most <= max_rebalances)) AS verdict,
    busiest.group_id, busiest.generation AS group_epoch, CAST(NULL AS string) AS member_id, busiest.partition,
    busiest.offset_ AS offset,
    concat(
        'expected at most ', max_rebalances_text, ' rebalances that stop all partitions in an hour, seen ',
        text(eager), ' of ', text(units), ' partitions',
        CASE WHEN upgradable THEN '; the group can be upgraded to the consumer protocol' ELSE '' END
    ) AS message
FROM (
    SELECT
        counted_.*,
        max(in_hour) OVER (PARTITION BY partition, group_id) AS most,
        row_number() OVER (PARTITION BY partition, group_id ORDER BY eager DESC, in_hour DESC, offset_ DESC) AS nth
    FROM (
        SELECT
            partition, group_id, generation, generations.offset AS offset_, units,
            count(*) OVER (
                PARTITION BY partition, group_id ORDER BY unix_seconds(completed_at)
                RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
            ) AS in_hour,
            sum(CASE WHEN mode = 'eager' THEN 1 ELSE 0 END) OVER (
                PARTITION BY partition, group_id ORDER BY unix_seconds(completed_at)
                RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
            ) AS eager
        FROM (
            SELECT classic_generation.*, limits.min_partitions
            FROM classic_generation
            JOIN limits ON limits.group_id = classic_generation.group_id
        ) AS generations
        WHERE mode IN ('eager', 'unknown') AND protocol_type = 'consumer' AND units > min_partitions
    ) AS counted_
) AS busiest
JOIN limits ON limits.group_id = busiest.group_id
LEFT JOIN group_state ON group_state.partition = busiest.partition AND group_state.group_id = busiest.group_id
LEFT JOIN groups ON groups.partition = busiest.partition AND groups.group_id = busiest.group_id
WHERE nth = 1
