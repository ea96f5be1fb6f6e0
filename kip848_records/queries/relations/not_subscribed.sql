-- Committed offsets of groups with members, of topics to which none of these subscribes now, and which none of them has. Left
-- out are groups with a member whose subscription is not known. owner: who had the partition when it was committed last, as
-- in commit_progress; null: its commits are not known.
WITH
  present AS (
    SELECT
      members.partition, members.group_id, members.incarnation, members.topics, members.regex,
      has_tasks(members.group_type) AS has_tasks
    FROM membership AS members
    JOIN group_state AS states
      ON states.partition = members.partition AND states.group_id = members.group_id
      AND states.incarnation = members.incarnation AND states.members > 0
    WHERE members.left_offset IS NULL AND members.left_at IS NULL AND NOT shares_units(members.group_type)
  ),
  topologies AS (
    SELECT partition, group_id, max(value) AS value
    FROM latest_state
    WHERE key_type = record_type(STREAMS_GROUP_TOPOLOGY)
    GROUP BY partition, group_id
  ),
  known AS (
    SELECT
      present.partition, present.group_id, present.incarnation, bool_and(present.has_tasks) AS has_tasks,
      max(topologies.value) AS topology
    FROM present
    LEFT JOIN topologies ON topologies.partition = present.partition AND topologies.group_id = present.group_id
    LEFT JOIN (SELECT DISTINCT partition, group_id, incarnation, regex FROM regex_resolution) AS matched
      ON matched.partition = present.partition AND matched.group_id = present.group_id
      AND matched.incarnation = present.incarnation AND matched.regex = present.regex
    GROUP BY present.partition, present.group_id, present.incarnation
    HAVING bool_and(
      CASE
        WHEN present.has_tasks THEN coalesce(topologies.value NOT LIKE '%"sourceTopicRegex":["%', false)
        WHEN present.regex IS NULL OR present.regex = '' THEN present.topics IS NOT NULL
        ELSE matched.regex IS NOT NULL
      END
    )
  ),
  subscribed AS (
    SELECT partition, group_id, incarnation, topic FROM subscribed_topics
    UNION ALL
    SELECT offsets_partition, group_id, incarnation, topic
    FROM commit_progress
    WHERE owner = 'member' AND released_offset IS NULL
  ),
  owners AS (
    SELECT offsets_partition, group_id, topic, partition, max_by(owner, last_commit_at) AS owner
    FROM commit_progress
    WHERE last_commit_at IS NOT NULL
    GROUP BY offsets_partition, group_id, topic, partition
  )
SELECT
  keys.partition, keys.group_id, known.incarnation, keys.topic, keys.topic_partition, keys.committed, keys.committed_at,
  owners.owner
FROM committed_keys AS keys
JOIN known ON known.partition = keys.partition AND known.group_id = keys.group_id
LEFT JOIN owners
  ON owners.offsets_partition = keys.partition AND owners.group_id = keys.group_id AND owners.topic = keys.topic
  AND owners.partition = keys.topic_partition
WHERE keys.committed >= 0
  AND NOT (known.has_tasks AND instr(known.topology, concat('"', keys.topic, '"')) > 0)
  AND NOT EXISTS (
    SELECT 1 FROM subscribed
    WHERE subscribed.partition = known.partition AND subscribed.group_id = known.group_id
      AND subscribed.incarnation = known.incarnation AND subscribed.topic = keys.topic
  )
