-- question = "Which groups commit the most? Needs an audit with --record-tables --offset-commits."
-- note = "By default an audit writes no table of records. key_partition is the topic's partition, partition that of the log."
-- needs = ["offset_commits", "offset_commit_table"]
-- about = "offset commit"
-- among = "offset_commit"
-- empty = "No group committed an offset"
SELECT c.group AS group_id, topic, count(*) AS commits, count(DISTINCT key_partition) AS partitions,
       max(commit_timestamp) AS last_at
FROM offset_commit c
WHERE NOT is_tombstone AND transaction IN ('none', 'committed')
GROUP BY c.group, topic ORDER BY commits DESC, group_id, topic
