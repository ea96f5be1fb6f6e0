SELECT states.partition, group_type, protocol_type, state, unix_millis(since) AS since_ms, group_epoch, assignment_epoch,
    states.generation, topology_epoch, validated_topology_epoch, members, converged_members, waits_for_away_only, history,
    unix_millis(generations.completed_at) AS completed_ms, stuck.is_stuck, stuck.is_hidden,
    unix_millis(stuck.stuck_since) AS stuck_since_ms, stuck.stuck_ms, stuck.stuck_history, health.health, states.incarnation,
    states.moved_from, unix_millis(states.moved_at) AS moved_ms, states.blocker,
    unix_millis(captures.captured_at) AS captured_ms, ms_between(states.since, captures.captured_at) AS lasts_ms,
    ms_between(generations.completed_at, captures.captured_at) AS stands_ms
FROM group_state AS states
JOIN stuck_now AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
LEFT JOIN captures ON captures.partition = states.partition
LEFT JOIN health_now AS health ON health.partition = states.partition AND health.group_id = states.group_id
LEFT JOIN (
    SELECT partition, group_id, incarnation, generation, min(completed_at) AS completed_at
    FROM classic_generation
    WHERE group_id = :group
    GROUP BY partition, group_id, incarnation, generation
) AS generations
    ON generations.partition = states.partition AND generations.group_id = states.group_id
    AND generations.incarnation = states.incarnation AND generations.generation = states.generation
WHERE states.group_id = :group
ORDER BY cluster, states.partition
