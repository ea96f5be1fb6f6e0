SELECT states.partition, group_type, protocol_type, state, unix_millis(since) AS since_ms, group_epoch, assignment_epoch,
    generation, topology_epoch, validated_topology_epoch, members, converged_members, waits_for_away_only, history,
    stuck.is_stuck, stuck.is_hidden, unix_millis(stuck.stuck_since) AS stuck_since_ms
FROM group_state AS states
JOIN ({stuck_now}) AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
WHERE states.group_id = :group
ORDER BY cluster, states.partition
