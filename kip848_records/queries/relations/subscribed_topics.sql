-- The topics to which the present members of groups subscribe: by name, or by a regular expression that brokers resolved.
WITH
  present AS (
    SELECT members.partition, members.group_id, members.incarnation, members.topics, members.regex
    FROM membership AS members
    JOIN group_state AS states
      ON states.partition = members.partition AND states.group_id = members.group_id
      AND states.incarnation = members.incarnation
    WHERE members.left_offset IS NULL AND members.left_at IS NULL
  )
SELECT partition, group_id, incarnation, explode(topics) AS topic FROM present
UNION ALL
SELECT resolved.partition, resolved.group_id, resolved.incarnation, resolved.topic
FROM (
  SELECT partition, group_id, incarnation, regex, explode(topics) AS topic FROM regex_resolution
) AS resolved
JOIN present
  ON present.partition = resolved.partition AND present.group_id = resolved.group_id
  AND present.incarnation = resolved.incarnation AND present.regex = resolved.regex
