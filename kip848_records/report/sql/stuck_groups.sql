SELECT group_id, partition, incarnation, state, unix_millis(since) AS since_ms, history, members, converged_members
FROM group_state
WHERE NOT coalesce(waits_for_away_only, false) AND state IN (:assigning, :reconciling)
ORDER BY since_ms, group_id, partition
