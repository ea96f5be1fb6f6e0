SELECT member_id, client_id, client_host, instance_id, subscription_error, assignment_error, user_data_bytes
FROM classic_member
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND generation = :generation
    AND (subscription_error IS NOT NULL OR assignment_error IS NOT NULL OR user_data_bytes > 0)
ORDER BY member_id
LIMIT 6
