-- The latest generations of a classic group; :epoch: only that one. is_present: the group has this generation at capture; any other one has ended.
SELECT generations.generation, unix_millis(completed_at) AS completed_ms, cause, mode, rounds, generations.members, units,
    moved, sync_ms, ended_by, generations.protocol_type, generations.leader, states.generation IS NOT NULL AS is_present,
    count(*) OVER () AS total
FROM classic_generation AS generations
LEFT JOIN group_state AS states
    ON states.partition = generations.partition AND states.group_id = generations.group_id
    AND states.incarnation = generations.incarnation AND states.generation = generations.generation
WHERE generations.group_id = :group AND generations.partition = :partition AND generations.incarnation = :incarnation
    AND (CAST(:epoch AS int) IS NULL OR generations.generation = CAST(:epoch AS int))
ORDER BY generations.generation DESC
LIMIT 20
