SELECT commits.topic_id, commits.topic, '{{ source }}' AS source, commits.partition, max(commits.offset) AS offset
FROM {commits} AS commits
WHERE commits.topic_id IS NOT NULL AND commits.topic_id <> '{{ no_uuid }}'
GROUP BY commits.topic_id, commits.topic, commits.partition
