-- The topics of offset commits, those with most commits first. is_gone: no list of topics has it; null without a list.
SELECT
    content.topic, CAST(sum(content.records) AS bigint) AS records,
    CASE WHEN count(content.bytes) = count(*) THEN CAST(sum(content.bytes) AS bigint) END AS bytes,
    CAST(sum(content.unchanged) AS bigint) AS unchanged, CAST(sum(content.live_keys) AS bigint) AS live_keys,
    count(DISTINCT content.group_id) AS groups,
    CASE WHEN max(listed.topics) > 0 THEN max(CASE WHEN known.topic IS NULL THEN 1 ELSE 0 END) = 1 END AS is_gone
FROM content_now AS content
LEFT JOIN (
    SELECT DISTINCT topic_name.topic FROM topic_name WHERE topic_name.source IN ('topics_file', 'cluster')
) AS known ON known.topic = content.topic
CROSS JOIN (
    SELECT count(*) AS topics FROM topic_name WHERE topic_name.source IN ('topics_file', 'cluster')
) AS listed
WHERE content.topic IS NOT NULL
GROUP BY content.topic
ORDER BY records DESC, content.topic
