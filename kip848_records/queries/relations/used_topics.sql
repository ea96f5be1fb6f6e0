-- The topics to which a present member of a group subscribes, or of which it has partitions or is to have some. Topics that
-- only the topology of a streams group names are not among them.
WITH
  present AS (
    SELECT members.partition, members.group_id, members.incarnation, members.topics, members.regex
    FROM membership AS members
    JOIN group_state AS states
      ON states.partition = members.partition AND states.group_id = members.group_id
      AND states.incarnation = members.incarnation
    WHERE members.left_offset IS NULL AND members.left_at IS NULL
  )
SELECT DISTINCT every.topic
FROM (
  SELECT explode(present.topics) AS topic FROM present
  UNION ALL
  SELECT resolved.topic
  FROM (
    SELECT partition, group_id, incarnation, regex, explode(topics) AS topic FROM regex_resolution
  ) AS resolved
  JOIN present
    ON present.partition = resolved.partition AND present.group_id = resolved.group_id
    AND present.incarnation = resolved.incarnation AND present.regex = resolved.regex
  UNION ALL
  SELECT assigned.topic FROM member_assignment AS assigned
) AS every
WHERE every.topic IS NOT NULL
