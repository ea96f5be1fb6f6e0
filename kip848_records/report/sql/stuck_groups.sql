SELECT states.group_id, states.partition, states.incarnation, states.state,
    unix_millis(coalesce(hidden.began_at, states.since)) AS since_ms, states.history, states.members,
    states.converged_members
FROM group_state AS states
LEFT JOIN (
    -- The states of these kinds do not show that members are late.
    SELECT partition, group_id, incarnation, min(began_at) AS began_at
    FROM rebalance
    WHERE outcome = 'open' AND group_type IN ('classic', 'share')
    GROUP BY partition, group_id, incarnation
) AS hidden
    ON hidden.partition = states.partition AND hidden.group_id = states.group_id
    AND hidden.incarnation = states.incarnation
WHERE NOT coalesce(states.waits_for_away_only, false)
    AND (states.state IN (:assigning, :reconciling, 'NotReady') OR hidden.group_id IS NOT NULL)
ORDER BY since_ms, states.group_id, states.partition
