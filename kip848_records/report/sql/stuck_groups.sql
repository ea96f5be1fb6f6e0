SELECT states.group_id, states.partition, states.incarnation, states.state,
    unix_millis(stuck.stuck_since) AS since_ms, stuck.stuck_history AS history, states.members,
    states.converged_members, stuck.stuck_ms,
    coalesce(waits.waiting, 0) AS waiting, states.blocker, stuck.limited_by, stuck.limited_ms
FROM group_state AS states
JOIN stuck_now AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
LEFT JOIN waiting_now AS waits
    ON waits.partition = states.partition AND waits.group_id = states.group_id AND waits.incarnation = states.incarnation
WHERE stuck.is_stuck
ORDER BY since_ms, states.group_id, states.partition
