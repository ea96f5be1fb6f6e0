SELECT member_id, client_id, client_host, instance_id, subscription_error, assignment_error
FROM classic_member
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND generation = :generation
    AND (subscription_error IS NOT NULL OR assignment_error IS NOT NULL)
ORDER BY member_id
LIMIT 6
