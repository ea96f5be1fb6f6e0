-- What the log has of a group that only commits offsets: it has no record of membership.
SELECT cluster, partition, count(*) AS commits, unix_millis(max(timestamp)) AS last_ms
FROM latest_state
WHERE group_id = :group AND key_type IN (0, 1)
GROUP BY cluster, partition
ORDER BY cluster, partition
