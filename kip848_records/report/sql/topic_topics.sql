-- The topics of offset commits, those with most commits first. is_gone: no list of topics has it; null without a list, and if
-- members of a group use a topic that the list does not have.
SELECT
    content.topic, total(content.records) AS records,
    total_if_known(content.bytes) AS bytes,
    total(content.unchanged) AS unchanged, total(content.live_keys) AS live_keys,
    count(DISTINCT content.group_id) AS groups,
    CASE WHEN known.state IN ('listed', 'gone') THEN known.state = 'gone' END AS is_gone
FROM content_now AS content
JOIN commit_topics AS known ON known.topic = content.topic
GROUP BY content.topic, known.state
ORDER BY records DESC, content.topic
