-- The last value of each committed offset at capture, with the topic and the partition that its key names. Offsets that wait
-- for an open transaction are left out.
SELECT
    partition, group_id, regexp_extract(key, '"topic":"(.*)","partition":(-?[0-9]+)', 1) AS topic,
    CAST(regexp_extract(key, '"topic":"(.*)","partition":(-?[0-9]+)', 2) AS int) AS topic_partition,
    CAST(regexp_extract(value, '"offset":(-?[0-9]+)', 1) AS bigint) AS committed, timestamp AS committed_at
FROM latest_state
WHERE group_id IS NOT NULL AND is_offset_commit(key_type) AND transaction <> 'pending'
    AND key LIKE '%"topic":"%","partition":%' AND value LIKE '%"offset":%'
