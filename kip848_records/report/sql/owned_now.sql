-- What each member has, what it is to have and what it is asked to revoke: first the members that have not what they are to
-- have, then those without anything.
SELECT member_id, place, role, present, target, pending, count(*) OVER () AS total
FROM (
    SELECT
        member_id, place, role, present, target, pending,
        min(CASE WHEN pending_units > 0 THEN 0 WHEN target <> present THEN 1 WHEN place IS NULL THEN 2 ELSE 3 END)
            OVER (PARTITION BY member_id) AS harm
    FROM owners
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
) AS ordered
ORDER BY harm, member_id, role, place
LIMIT 2000
