-- What is wrong with groups over time, at capture, but for groups that are stuck: the worst first.
SELECT troubles.group_id, pattern, count, at_least, subject, failing_ms
FROM troubles_now AS troubles
JOIN health_now AS now ON now.partition = troubles.partition AND now.group_id = troubles.group_id
WHERE now.health = 'failing'
ORDER BY harm DESC, first_seen, troubles.group_id, troubles.partition, nth
