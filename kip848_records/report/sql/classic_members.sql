-- The members of a generation of a classic group, :epoch, or of the last one. A static member that was replaced within it is
-- not there any more.
SELECT members.member_id, members.instance_id, members.client_id, members.client_host, is_leader, assigned, standby_tasks, url,
    undecoded
FROM classic_member AS members
JOIN (
    SELECT coalesce(CAST(:epoch AS int), max(generation)) AS generation
    FROM classic_generation
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
) AS chosen ON chosen.generation = members.generation
LEFT JOIN (
    SELECT generation, replaced.from_member AS member_id
    FROM (
        SELECT generation, explode(static_replaced) AS replaced
        FROM classic_generation
        WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
    ) AS replacements
) AS gone ON gone.member_id = members.member_id AND gone.generation = members.generation
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND gone.member_id IS NULL
ORDER BY members.member_id
LIMIT 101
