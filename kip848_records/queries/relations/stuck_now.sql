-- Every group at capture. is_stuck: it has not converged, and does not only wait for absent static members. is_hidden: it
-- has an ongoing rebalance since hidden_since, which the states of its kind do not show. Neither holds of an unknown state. stuck_since: when the ongoing
-- rebalance began, else the state; the states of one rebalance may alternate. health: stuck, away, unknown, empty (no
-- member), or healthy.
SELECT
    partition, group_id, incarnation, is_away, is_hidden, hidden_since, stuck_since, is_stuck,
    CASE
        WHEN state = 'unknown' THEN 'unknown' WHEN is_away THEN 'away' WHEN is_stuck THEN 'stuck' WHEN state = 'Empty'
            THEN 'empty'
        ELSE 'healthy'
    END AS health
FROM (
    SELECT
        states.partition, states.group_id, states.incarnation, states.state,
        coalesce(states.waits_for_away_only, false) AS is_away,
        coalesce(ongoing.group_type IN ('classic', 'share'), false) AS is_hidden,
        CASE WHEN ongoing.group_type IN ('classic', 'share') THEN ongoing.began_at END AS hidden_since,
        coalesce(ongoing.began_at, states.since) AS stuck_since,
        NOT coalesce(states.waits_for_away_only, false)
            AND (
                states.state IN ('Assigning', 'Reconciling', 'NotReady')
                OR coalesce(ongoing.group_type IN ('classic', 'share'), false)
            ) AS is_stuck
    FROM group_state AS states
    LEFT JOIN (
        SELECT partition, group_id, incarnation, group_type, min(began_at) AS began_at
        FROM rebalance
        WHERE outcome = 'open'
        GROUP BY partition, group_id, incarnation, group_type
    ) AS ongoing
        ON ongoing.partition = states.partition AND ongoing.group_id = states.group_id
        AND ongoing.incarnation = states.incarnation AND ongoing.group_type = states.group_type
        AND states.state <> 'unknown'
) AS stuck
