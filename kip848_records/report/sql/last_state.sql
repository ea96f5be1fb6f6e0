SELECT state, group_type, (
    SELECT max(protocol_type)
    FROM classic_generation
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND protocol_type = 'connect'
) AS protocol_type
FROM group_state_timeline
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
ORDER BY from_offset DESC
LIMIT 1
