-- Every group at capture. is_stuck: it has not converged, and does not only wait for absent static members. is_hidden: it
-- has an ongoing rebalance since hidden_since, which the states of its kind do not show.
SELECT
    states.partition, states.group_id, states.incarnation,
    coalesce(states.waits_for_away_only, false) AS is_away,
    hidden.group_id IS NOT NULL AS is_hidden,
    hidden.began_at AS hidden_since,
    NOT coalesce(states.waits_for_away_only, false)
        AND (states.state IN ('Assigning', 'Reconciling', 'NotReady') OR hidden.group_id IS NOT NULL) AS is_stuck
FROM group_state AS states
LEFT JOIN (
    SELECT partition, group_id, incarnation, min(began_at) AS began_at
    FROM rebalance
    WHERE outcome = 'open' AND group_type IN ('classic', 'share')
    GROUP BY partition, group_id, incarnation
) AS hidden
    ON hidden.partition = states.partition AND hidden.group_id = states.group_id
    AND hidden.incarnation = states.incarnation
