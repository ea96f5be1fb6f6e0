-- question = "Where has the cleaner been, and what is behind the last offset that it has been to?"
-- note = "Of segment files alone, which keep the gaps that it leaves. The last segment of a partition is never cleaned. no_cleaning_shown is no fault: the log may be too young."
-- needs = []
-- about = "partition of segment files"
-- among = "partition_content"
-- empty = "Segment files alone show where the cleaner has been"
SELECT
  partition, state, dirty_since, CASE WHEN dirty_ms >= 0 THEN dirty_ms END AS dirty_ms, dirty_records, dirty_keys, dirty_bytes, dirty_files, cleaned_until, records,
  bytes, files, copy
FROM compaction_now
ORDER BY CASE state WHEN 'not_cleaned' THEN 0 ELSE 1 END, dirty_bytes DESC, partition, copy, nth
