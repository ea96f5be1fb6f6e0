SELECT group_type, state, count(*) AS groups
FROM group_state
GROUP BY group_type, state
ORDER BY group_type, state
