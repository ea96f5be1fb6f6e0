-- Each client id of each group that has members of the classic protocol.
SELECT
    members.client_id, members.group_id, judged.kind, judged.verdict, count(*) AS members,
    array_sort(collect_set(members.client_host)) AS hosts
FROM members_by_protocol AS members
JOIN migration_now AS judged ON judged.partition = members.partition AND judged.group_id = members.group_id
WHERE members.is_classic
GROUP BY members.client_id, members.group_id, judged.kind, judged.verdict
ORDER BY members.group_id, members.client_id
