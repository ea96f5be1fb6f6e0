-- The initialized partitions of a share group that no member has; since when for the one that waits for longest.
SELECT topic, array_join(array_sort(collect_list(number)), ' ') AS numbers,
    unix_millis(min(greatest(from_at, ended_at))) AS free_ms
FROM (
    SELECT topic_id, coalesce(topic, topic_id) AS topic, from_at, explode(partitions) AS number
    FROM share_partition_state
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND to_at IS NULL
        AND state = 'initialized'
) AS initialized
LEFT JOIN (
    SELECT topic_id AS owned_topic, partition AS owned, max(to_at) AS ended_at, count(*) - count(to_at) AS present
    FROM ownership
    WHERE group_id = :group AND offsets_partition = :partition AND incarnation = :incarnation AND group_type = 'share'
    GROUP BY topic_id, partition
) AS owners ON owned_topic = topic_id AND owned = number
WHERE coalesce(present, 0) = 0
GROUP BY topic
ORDER BY free_ms, topic
