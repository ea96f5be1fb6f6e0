-- The topics of offset commits, those with most commits first. list_state: see commit_topics.
SELECT
    content.topic, total(content.records) AS records,
    total_if_known(content.bytes) AS bytes,
    total(content.unchanged) AS unchanged, total(content.live_keys) AS live_keys,
    count(DISTINCT content.group_id) AS groups,
    known.state AS list_state
FROM content_now AS content
JOIN commit_topics AS known ON known.topic = content.topic
GROUP BY content.topic, known.state
ORDER BY records DESC, content.topic
