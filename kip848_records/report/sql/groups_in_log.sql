-- The groups of which the log has a record, whatever its type.
SELECT DISTINCT log.group_id FROM log WHERE log.group_id IS NOT NULL ORDER BY log.group_id LIMIT 10000
