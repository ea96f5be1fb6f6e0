-- For each group, the partitions with a committed offset at capture, and the time of the last commit that is left. Offsets
-- that wait for an open transaction do not count, nor do negative ones: clients take them for none. In the JSON of a value
-- no text that somebody wrote has a quote without a backslash.
SELECT
  partition, group_id, count(CASE WHEN value NOT LIKE '%"offset":-%' THEN 1 END) AS committed,
  max(timestamp) AS last_commit_at
FROM latest_state
WHERE group_id IS NOT NULL AND is_offset_commit(key_type)
GROUP BY partition, group_id
