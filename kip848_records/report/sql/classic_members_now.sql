SELECT member_id, instance_id, client_id, client_host, is_leader, assigned
FROM classic_member
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND generation = :generation
ORDER BY member_id
LIMIT 101
