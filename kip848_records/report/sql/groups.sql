SELECT DISTINCT group_id FROM group_state_timeline ORDER BY group_id LIMIT 10000
