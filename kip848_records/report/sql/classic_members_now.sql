-- A static member that was replaced within the generation is not there any more.
SELECT members.member_id, members.instance_id, members.client_id, members.client_host, is_leader, assigned, standby_tasks, url,
    undecoded
FROM classic_member AS members
LEFT JOIN (
    SELECT replaced.from_member AS member_id
    FROM (
        SELECT explode(static_replaced) AS replaced
        FROM classic_generation
        WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND generation = :generation
    ) AS replacements
) AS gone ON gone.member_id = members.member_id
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND generation = :generation
    AND gone.member_id IS NULL
ORDER BY members.member_id
LIMIT 101
