-- The topics to which no member subscribes, and of which the group has committed offsets: the latest commit first.
SELECT
    topic, partition AS in_partition, array_join(array_sort(collect_list(topic_partition)), ' ') AS numbers,
    min(committed) AS least_committed, max(committed) AS most_committed, unix_millis(max(committed_at)) AS committed_ms,
    max_by(owner, committed_at) AS owner, count(*) OVER () AS total
FROM not_subscribed
WHERE group_id = :group
GROUP BY partition, topic
ORDER BY committed_ms DESC, topic, partition
LIMIT 5
