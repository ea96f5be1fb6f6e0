-- name = "connect_balance"
-- sentence = "After a rebalance, Connect's workers run equally many connectors and tasks, within max_percent of all"
-- severity = "warn"
-- needs = []
-- about = "generation of a Connect cluster"
-- rows_of = "connect_assignment"
-- [limits.max_percent]
-- default = 20
-- unit = "percent"
-- reason = "The difference between the busiest and the idlest worker. A difference of two always passes: Connect balances connectors and tasks separately."

WITH counts AS (
    SELECT
        workers.partition, workers.group_id, workers.incarnation, workers.generation, workers.member_id,
        coalesce(max(units.running), 0) AS running, bool_or(workers.quarantine_reason IS NOT NULL) AS is_unread
    FROM connect_assignment AS workers
    LEFT JOIN (
        SELECT partition, group_id, incarnation, generation, member_id, sum(size(unit.tasks)) AS running
        FROM (
            SELECT partition, group_id, incarnation, generation, member_id, explode(running) AS unit
            FROM connect_assignment
        ) AS exploded
        GROUP BY partition, group_id, incarnation, generation, member_id
    ) AS units
        ON units.partition = workers.partition AND units.group_id = workers.group_id
        AND units.incarnation = workers.incarnation AND units.generation = workers.generation
        AND units.member_id = workers.member_id
    GROUP BY workers.partition, workers.group_id, workers.incarnation, workers.generation, workers.member_id
), spreads AS (
    SELECT
        partition, group_id, incarnation, generation, max(running) AS most, min(running) AS least, sum(running) AS units,
        bool_or(is_unread) AS is_unread
    FROM counts
    GROUP BY partition, group_id, incarnation, generation
)
SELECT
    verdict(
        most - least > 2 AND (most - least) * 100 > max_percent * units, rebalance.outcome NOT IN ('open', 'unknown') AND NOT is_unread
    ) AS verdict,
    spreads.group_id, spreads.generation AS group_epoch, CAST(NULL AS string) AS member_id, spreads.partition,
    CAST(NULL AS bigint) AS offset,
    concat(
        'expected workers to differ by at most ', max_percent_text, ' % of ', text(units), ' units, seen ', text(least),
        ' to ', text(most)
    ) AS message
FROM spreads
JOIN rebalance
    ON rebalance.partition = spreads.partition AND rebalance.group_id = spreads.group_id
    AND rebalance.incarnation = spreads.incarnation AND rebalance.last_epoch = spreads.generation
JOIN limits ON limits.group_id = spreads.group_id
