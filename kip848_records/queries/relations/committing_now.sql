-- The groups that have written offset commits, with what the topic holds of these. records, dirty_records: with tombstones.
-- per_second: in the part that the cleaner has not been to, over the group's own time there, rate_ms, or a minute if that is
-- shorter; null if the log does not show where that part is, or if all of it is shorter. Without the times of the group's
-- records it is the average over that part (is_average).
-- status: has_group: a record of the group is there. moved: records of its id are in another partition too, or it began in
-- another one before the topic got more: what is gone here may live there. pending: a transaction with its offsets is open.
-- deleted: the tombstone of its record is behind its last commit, by offset. unknown: as simple or expired, but records were
-- lost. expired: probably: it has no record, and its last commit is older than offsets are kept; an old client may have set
-- a time of its own for its commits, which the count does not show. simple: none of these, as of a client that assigns
-- partitions itself: nothing says that it is gone.
-- gone_topics, gone_keys: topics that are gone by commit_topics, with the offsets of these; null without a list of topics.
-- unlisted_topics, unlisted_keys: those in use that the list does not have.
SELECT
  found.*,
  CASE
    WHEN found.has_group THEN 'has_group'
    WHEN found.is_moved THEN 'moved'
    WHEN found.is_pending THEN 'pending'
    WHEN found.deleted_offset > found.last_offset AND coalesce(found.last_lost_offset < found.deleted_offset, true)
      THEN 'deleted'
    WHEN found.has_losses THEN 'unknown'
    WHEN found.age_ms - 3600000 > found.retention_ms THEN 'expired'
    ELSE 'simple'
  END AS status
FROM (
  SELECT
    commits.partition, commits.group_id, commits.records, commits.bytes, commits.live_keys, commits.superseded,
    commits.unchanged, commits.dirty_records, commits.dirty_unchanged, commits.dirty_ms, commits.committed_at, commits.topics,
    commits.rate_ms, commits.is_average, commits.last_offset,
    CASE WHEN commits.dirty_ms >= 60000 THEN commits.dirty_records * 1e3 / commits.rate_ms END AS per_second,
    states.group_id IS NOT NULL AS has_group,
    coalesce(places.partitions > 1 OR places.moved > 0, false) AS is_moved,
    coalesce(opened.is_pending > 0, false) AS is_pending,
    deleted.deleted_offset, history.last_lost_offset, history.first_lost_offset IS NOT NULL AS has_losses,
    unix_millis(runs.captured_at) - unix_millis(commits.committed_at) AS age_ms,
    offsets_kept_ms(runs.offsets_retention_ms) AS retention_ms,
    runs.offsets_retention_ms IS NULL AS is_assumed,
    commits.gone_topics, commits.gone_keys, commits.unlisted_topics, commits.unlisted_keys
  FROM (
    SELECT
      summed.*, summed.own_ms IS NULL AS is_average,
      CASE WHEN summed.dirty_ms >= 60000
        THEN greatest(least(coalesce(summed.own_ms, summed.dirty_ms), summed.dirty_ms), CAST(60000 AS bigint)) END AS rate_ms
    FROM (
      SELECT
        content.partition, content.group_id, total(content.records) AS records,
        total_if_known(content.bytes) AS bytes, total(content.live_keys) AS live_keys,
        total(content.superseded) AS superseded,
        total_if_known(content.unchanged) AS unchanged,
        total(content.dirty_records) AS dirty_records, total(content.dirty_unchanged) AS dirty_unchanged,
        max(content.dirty_ms) AS dirty_ms, max(content.newest_at) AS committed_at, count(DISTINCT content.topic) AS topics,
        CASE WHEN count(content.oldest_at) = count(*)
          THEN ms_between(
            greatest(min(content.oldest_at), coalesce(max(cleaned.dirty_since), min(content.oldest_at))), max(content.newest_at)
          ) END AS own_ms,
        CASE WHEN count(content.last_offset) > 0 THEN max(content.last_offset) END AS last_offset,
        sum(CASE WHEN known.state IS NULL THEN NULL WHEN known.state = 'gone' AND content.live_keys > 0 THEN 1 ELSE 0 END)
          AS gone_topics,
        total(CASE WHEN known.state IS NULL THEN NULL WHEN known.state = 'gone' THEN content.live_keys ELSE 0 END) AS gone_keys,
        sum(CASE WHEN known.state IS NULL THEN NULL WHEN known.state = 'in_use' AND content.live_keys > 0 THEN 1 ELSE 0 END)
          AS unlisted_topics,
        total(CASE WHEN known.state IS NULL THEN NULL WHEN known.state = 'in_use' THEN content.live_keys ELSE 0 END)
          AS unlisted_keys
      FROM content_now AS content
      LEFT JOIN commit_topics AS known ON known.topic = content.topic
      LEFT JOIN partition_content AS cleaned ON cleaned.partition = content.partition AND cleaned.copy = content.copy
      WHERE is_offset_commit(content.key_type) AND content.group_id IS NOT NULL
      GROUP BY content.partition, content.group_id
    ) AS summed
  ) AS commits
  CROSS JOIN (
    SELECT max(latest.captured_at) AS captured_at, max(latest.offsets_retention_ms) AS offsets_retention_ms
    FROM audit_runs AS latest
    JOIN (SELECT max(audit_runs.run) AS run FROM audit_runs) AS last ON last.run = latest.run
  ) AS runs
  LEFT JOIN (
    SELECT DISTINCT group_state.partition, group_state.group_id FROM group_state WHERE group_state.group_type <> 'simple'
  ) AS states ON states.partition = commits.partition AND states.group_id = commits.group_id
  LEFT JOIN (
    SELECT every.group_id, count(DISTINCT every.partition) AS partitions, sum(every.moved) AS moved
    FROM (
      SELECT group_state.partition, group_state.group_id, CASE WHEN group_state.moved_from IS NULL THEN 0 ELSE 1 END AS moved
      FROM group_state
      UNION ALL
      SELECT content.partition, content.group_id, 0 AS moved FROM content_now AS content
    ) AS every
    GROUP BY every.group_id
  ) AS places ON places.group_id = commits.group_id
  LEFT JOIN (
    SELECT
      content.partition, content.group_id,
      max(CASE WHEN array_contains(cleaned.open_groups, content.group_id) OR size(cleaned.open_groups) >= 20 THEN 1 ELSE 0 END)
        AS is_pending
    FROM content_now AS content
    JOIN partition_content AS cleaned ON cleaned.partition = content.partition AND cleaned.copy = content.copy
    WHERE cleaned.open_transactions > 0
    GROUP BY content.partition, content.group_id
  ) AS opened ON opened.partition = commits.partition AND opened.group_id = commits.group_id
  LEFT JOIN (
    SELECT content.partition, content.group_id, max(content.last_offset) AS deleted_offset
    FROM content_now AS content
    WHERE content.key_type IN (
      record_type(GROUP_METADATA), record_type(CONSUMER_GROUP_METADATA), record_type(SHARE_GROUP_METADATA),
      record_type(STREAMS_GROUP_METADATA)
    )
    GROUP BY content.partition, content.group_id
    HAVING max(content.live_keys) = 0 AND max(content.kept_tombstones) > 0
  ) AS deleted ON deleted.partition = commits.partition AND deleted.group_id = commits.group_id
  LEFT JOIN (
    SELECT
      partition_history.partition, max(partition_history.first_lost_offset) AS first_lost_offset,
      max(partition_history.last_lost_offset) AS last_lost_offset
    FROM partition_history WHERE partition_history.is_base
    GROUP BY partition_history.partition
  ) AS history ON history.partition = commits.partition
) AS found
