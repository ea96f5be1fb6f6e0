-- The groups that have written offset commits, with what the topic holds of these. commits: without tombstones.
-- per_second: in the part that the cleaner has not been to, null if the log does not show where that is or if it is short.
-- status: has_group: a record of the group is there. deleted: its tombstone is there, and no later commit. expired: it has
-- no record, and its last commit is older than offsets are kept. simple: none of these, as of a client that assigns
-- partitions itself: nothing says that it is gone. unknown: as simple or expired, but records were lost.
-- gone_topics, gone_keys: topics that are not in the list of all topics, with the offsets of these; null without a list.
SELECT
  found.*,
  CASE
    WHEN found.has_group THEN 'has_group'
    WHEN found.deleted_at >= found.committed_at THEN 'deleted'
    WHEN found.has_losses THEN 'unknown'
    WHEN found.age_ms - 3600000 > found.retention_ms THEN 'expired'
    ELSE 'simple'
  END AS status
FROM (
  SELECT
    commits.partition, commits.group_id, commits.records, commits.bytes, commits.live_keys, commits.superseded,
    commits.unchanged, commits.dirty_records, commits.dirty_unchanged, commits.dirty_ms, commits.committed_at, commits.topics,
    CASE WHEN commits.dirty_ms >= 60000 THEN commits.dirty_records * 1e3 / commits.dirty_ms END AS per_second,
    states.group_id IS NOT NULL AS has_group, deleted.deleted_at, history.first_lost_offset IS NOT NULL AS has_losses,
    unix_millis(runs.captured_at) - unix_millis(commits.committed_at) AS age_ms,
    coalesce(runs.offsets_retention_ms, 604800000) AS retention_ms, runs.offsets_retention_ms IS NULL AS is_assumed,
    CASE WHEN listed.topics > 0 THEN commits.gone_topics END AS gone_topics,
    CASE WHEN listed.topics > 0 THEN commits.gone_keys END AS gone_keys
  FROM (
    SELECT
      content.partition, content.group_id, total(content.records) AS records,
      CASE WHEN count(content.bytes) = count(*) THEN total(content.bytes) END AS bytes, total(content.live_keys) AS live_keys,
      total(content.superseded) AS superseded,
      CASE WHEN count(content.unchanged) = count(*) THEN total(content.unchanged) END AS unchanged,
      total(content.dirty_records) AS dirty_records, total(content.dirty_unchanged) AS dirty_unchanged,
      max(content.dirty_ms) AS dirty_ms, max(content.newest_at) AS committed_at, count(DISTINCT content.topic) AS topics,
      sum(CASE WHEN known.topic IS NULL AND content.live_keys > 0 THEN 1 ELSE 0 END) AS gone_topics,
      total(CASE WHEN known.topic IS NULL THEN content.live_keys ELSE 0 END) AS gone_keys
    FROM content_now AS content
    LEFT JOIN (
      SELECT DISTINCT topic_name.topic FROM topic_name WHERE topic_name.source IN ('topics_file', 'cluster')
    ) AS known ON known.topic = content.topic
    WHERE content.key_type IN (0, 1) AND content.group_id IS NOT NULL
    GROUP BY content.partition, content.group_id
  ) AS commits
  CROSS JOIN (
    SELECT count(*) AS topics FROM topic_name WHERE topic_name.source IN ('topics_file', 'cluster')
  ) AS listed
  CROSS JOIN (
    SELECT max(latest.captured_at) AS captured_at, max(latest.offsets_retention_ms) AS offsets_retention_ms
    FROM audit_runs AS latest
    JOIN (SELECT max(audit_runs.run) AS run FROM audit_runs) AS last ON last.run = latest.run
  ) AS runs
  LEFT JOIN (
    SELECT DISTINCT group_state.partition, group_state.group_id FROM group_state WHERE group_state.group_type <> 'simple'
  ) AS states ON states.partition = commits.partition AND states.group_id = commits.group_id
  LEFT JOIN (
    SELECT content.partition, content.group_id, max(content.newest_at) AS deleted_at
    FROM content_now AS content
    WHERE content.key_type IN (2, 3, 11, 17) AND content.kept_tombstones > 0 AND content.live_keys = 0
    GROUP BY content.partition, content.group_id
  ) AS deleted ON deleted.partition = commits.partition AND deleted.group_id = commits.group_id
  LEFT JOIN (
    SELECT partition_history.partition, max(partition_history.first_lost_offset) AS first_lost_offset
    FROM partition_history WHERE partition_history.is_base
    GROUP BY partition_history.partition
  ) AS history ON history.partition = commits.partition
) AS found
