-- Where the log has records of a group, whatever their type.
SELECT log.cluster, log.partition, unix_millis(max(log.timestamp)) AS last_ms
FROM log
WHERE log.group_id = :group
GROUP BY log.cluster, log.partition
ORDER BY log.cluster, last_ms, log.partition
