-- Which tables of single kinds of groups have rows: the page asks for nothing else of them.
SELECT name
FROM (
  SELECT 'generations' AS name, count(*) AS found FROM classic_generation
  UNION ALL SELECT 'units', count(*) FROM classic_member
  UNION ALL SELECT 'units', count(*) FROM ownership
  UNION ALL SELECT 'workers', count(*) FROM connect_assignment
  UNION ALL SELECT 'tasks', count(*) FROM task_handover
  UNION ALL SELECT 'topics', count(*) FROM share_partition_state
  UNION ALL SELECT 'migrations', count(*) FROM group_migration
  UNION ALL SELECT 'periods', count(*) FROM protocol_comparison
) AS tables
WHERE found > 0
