-- Which tasks does each member of a streams group have now, and in which role?
SELECT group_id, member_id, role, subtopology_id, array_sort(collect_list(partition)) AS tasks
FROM ownership
WHERE group_type = 'streams' AND to_at IS NULL
GROUP BY group_id, member_id, role, subtopology_id
ORDER BY group_id, member_id, role, subtopology_id
