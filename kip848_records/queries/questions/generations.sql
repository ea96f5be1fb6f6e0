-- Which classic groups and Connect clusters rebalanced most, and why?
SELECT group_id, cause, mode, count(*) AS generations, sum(moved) AS moved, max(sync_ms) AS slowest_sync_ms
FROM classic_generation
WHERE cause NOT IN ('created', 'emptied')
GROUP BY group_id, cause, mode
ORDER BY generations DESC, group_id, cause, mode LIMIT 20
