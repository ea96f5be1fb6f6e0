SELECT cluster, partition, incarnation, max(CASE WHEN to_at IS NULL THEN 1 ELSE 0 END) AS lasts,
    unix_millis(max(from_at)) AS changed_ms
FROM group_state_timeline
WHERE group_id = :group
GROUP BY cluster, partition, incarnation
ORDER BY lasts, changed_ms, incarnation, partition, cluster
