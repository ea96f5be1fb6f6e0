-- The topics to which a present member of a group subscribes, or of which it has partitions or is to have some. Topics that
-- only the topology of a streams group names are not among them.
SELECT DISTINCT every.topic
FROM (
  SELECT subscribed.topic FROM subscribed_topics AS subscribed
  UNION ALL
  SELECT assigned.topic FROM member_assignment AS assigned
) AS every
WHERE every.topic IS NOT NULL
