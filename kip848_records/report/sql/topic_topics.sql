-- The topics of offset commits, those with most commits first. is_gone: no list of topics has it; null without a list.
SELECT
    content.topic, total(content.records) AS records,
    CASE WHEN count(content.bytes) = count(*) THEN total(content.bytes) END AS bytes,
    total(content.unchanged) AS unchanged, total(content.live_keys) AS live_keys,
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
