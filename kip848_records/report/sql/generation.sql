SELECT generation, unix_millis(completed_at) AS completed_ms, cause, mode, rounds, members, units, moved, sync_ms,
    ended_by, protocol_type, leader, count(*) OVER () AS total
FROM classic_generation
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND generation = :epoch
ORDER BY generation
