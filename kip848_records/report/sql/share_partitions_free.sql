-- The initialized partitions to which a share group subscribes and that no member has; since when no member has any of them.
SELECT topic, array_join(array_sort(collect_list(number)), ' ') AS numbers, unix_millis(max(free_since)) AS free_ms
FROM subscribed_shares AS shares
WHERE owners = 0 AND group_id = :group AND partition = :partition AND incarnation = :incarnation
GROUP BY topic_id, topic
ORDER BY free_ms, topic, topic_id
