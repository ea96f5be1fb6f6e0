-- question = "Which classic groups and Connect clusters rebalanced most, and why?"
-- note = "A time is empty if the clock of the broker went back."
-- needs = []
-- about = "classic generation"
-- among = "classic_generation"
-- empty = "No generation of a classic group or a Connect cluster came from a rebalance"
SELECT group_id, cause, mode, count(*) AS generations, sum(moved) AS moved, max(CASE WHEN sync_ms >= 0 THEN sync_ms END) AS slowest_sync_ms
FROM classic_generation
WHERE cause NOT IN ('created', 'emptied')
GROUP BY group_id, cause, mode
ORDER BY generations DESC, group_id, cause, mode LIMIT 20
