-- Every group at capture. is_stuck: it rebalances, and does not only wait for absent static members; since stuck_since, or
-- before if stuck_history is censored. is_hidden: it rebalances, which the states of its kind do not show. health: stuck,
-- away, unknown, empty (no member), or healthy.
SELECT
    partition, group_id, incarnation, is_away, is_hidden, is_stuck, rebalancing_since,
    CASE WHEN is_stuck THEN rebalancing_since END AS stuck_since,
    CASE WHEN is_stuck THEN rebalancing_history END AS stuck_history,
    CASE
        WHEN state = 'unknown' THEN 'unknown' WHEN is_away THEN 'away' WHEN is_stuck THEN 'stuck' WHEN state = 'Empty'
            THEN 'empty'
        ELSE 'healthy'
    END AS health
FROM (
    SELECT
        partition, group_id, incarnation, state, rebalancing_since, rebalancing_history,
        coalesce(waits_for_away_only, false) AS is_away,
        rebalancing_history IS NOT NULL AND state NOT IN ('Assigning', 'Reconciling', 'NotReady') AS is_hidden,
        rebalancing_history IS NOT NULL AND NOT coalesce(waits_for_away_only, false) AS is_stuck
    FROM group_state
) AS states
