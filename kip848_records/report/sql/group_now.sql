SELECT partition, group_type, state, unix_millis(since) AS since_ms, group_epoch, assignment_epoch, members,
    converged_members, waits_for_away_only, history
FROM group_state
WHERE group_id = :group
ORDER BY cluster, partition
