-- The topics of offset commits, by the list of all topics. state: listed; gone: the list does not have it; in_use: nor that,
-- but a member of a group subscribes to it or has partitions of it, so the list may not be complete. Null without a list.
SELECT
  every.topic,
  CASE
    WHEN max(list.topics) = 0 THEN NULL
    WHEN max(listed.topic) IS NOT NULL THEN 'listed'
    WHEN max(used.topic) IS NOT NULL OR max(topologies.value) IS NOT NULL THEN 'in_use'
    ELSE 'gone'
  END AS state
FROM (SELECT DISTINCT content.topic FROM content_now AS content WHERE content.topic IS NOT NULL) AS every
CROSS JOIN (SELECT count(*) AS topics FROM listed_topics) AS list
LEFT JOIN listed_topics AS listed ON listed.topic = every.topic
LEFT JOIN used_topics AS used ON used.topic = every.topic
LEFT JOIN latest_state AS topologies
  ON topologies.key_type = record_type(STREAMS_GROUP_TOPOLOGY)
  AND instr(topologies.value, concat('"', every.topic, '"')) > 0
GROUP BY every.topic
