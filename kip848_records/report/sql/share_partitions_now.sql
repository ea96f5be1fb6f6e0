SELECT topic, state, partitions, unix_millis(from_at) AS from_ms
FROM share_partition_state
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND to_at IS NULL
    AND state <> 'initialized'
ORDER BY topic, state
