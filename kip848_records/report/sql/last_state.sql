SELECT state, group_type
FROM group_state_timeline
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
ORDER BY from_offset DESC
LIMIT 1
