-- What each member has now, is to have, and is asked to revoke: partitions, tasks in a role, or what a worker runs.
SELECT owners.partition, owners.group_id, incarnation, member_id, CASE WHEN group_type <> 'classic' THEN role END AS role,
  place, array_join(array_sort(flatten(collect_list(present))), ' ') AS numbers,
  CASE WHEN count(target) > 0 THEN array_join(array_sort(flatten(collect_list(target))), ' ') END AS target,
  array_join(array_sort(flatten(collect_list(pending))), ' ') AS pending
FROM owners
JOIN chosen ON owners.partition = chosen.partition AND owners.group_id = chosen.group_id
WHERE place IS NOT NULL
GROUP BY owners.partition, owners.group_id, incarnation, member_id, CASE WHEN group_type <> 'classic' THEN role END, place
