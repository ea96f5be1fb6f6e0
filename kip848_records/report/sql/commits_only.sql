-- What the log has of a group that only commits offsets: it has no record of membership. is_whole: none was lost.
SELECT commits.cluster, commits.partition, count(*) AS commits, unix_millis(max(commits.timestamp)) AS last_ms,
    NOT coalesce(max(bases.log_start_missing OR bases.first_lost_offset IS NOT NULL), false) AS is_whole
FROM latest_state AS commits
LEFT JOIN partition_history AS bases
    ON bases.cluster = commits.cluster AND bases.partition = commits.partition AND bases.is_base
WHERE commits.group_id = :group AND is_offset_commit(commits.key_type)
GROUP BY commits.cluster, commits.partition
ORDER BY commits.cluster, commits.partition
