-- How many groups use the new protocols, without a classic member, and how many of these came from the classic one.
SELECT
    states.group_type, count(*) AS groups, CAST(sum(coalesce(states.members, 0)) AS bigint) AS members,
    count(moved.group_id) AS moved
FROM group_state AS states
LEFT JOIN (SELECT DISTINCT partition, group_id FROM group_migration WHERE from_type = 'classic') AS moved
    ON moved.partition = states.partition AND moved.group_id = states.group_id
WHERE states.group_type <> 'classic' AND states.group_type <> 'simple'
    AND NOT EXISTS (
        SELECT 1 FROM members_by_protocol AS members
        WHERE members.is_classic AND members.partition = states.partition AND members.group_id = states.group_id
    )
GROUP BY states.group_type
ORDER BY states.group_type
