SELECT states.group_id, states.partition, states.incarnation, states.state,
    unix_millis(stuck.stuck_since) AS since_ms, states.history, states.members,
    states.converged_members
FROM group_state AS states
JOIN ({stuck_now}) AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
WHERE stuck.is_stuck
ORDER BY since_ms, states.group_id, states.partition
