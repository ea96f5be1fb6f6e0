-- How many groups have offset commits, and no record of membership. Kafka lists them: they are Empty.
SELECT count(DISTINCT commits.group_id) AS groups
FROM latest_state AS commits
LEFT JOIN group_state AS states ON states.group_id = commits.group_id
WHERE commits.key_type IN (0, 1) AND states.group_id IS NULL
