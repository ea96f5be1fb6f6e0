-- question = "Which groups fill __consumer_offsets with offset commits, and how many of these change nothing?"
-- note = "Rates are of the part that the cleaner has not been to: null for a dump, which does not show it, and for less than a minute. status: deleted groups are gone, expired ones probably; moved has records in another partition too, pending an open transaction, unknown has lost records; simple has no record of its own, as a client that assigns partitions itself."
-- needs = ["topic_content"]
-- about = "group with offset commits"
-- among = "committing_now"
-- empty = "No group has committed an offset"
SELECT
  group_id, records, bytes, per_second, rate_ms, unchanged, live_keys, superseded, dirty_records, dirty_unchanged, topics, status,
  gone_topics, gone_keys, unlisted_topics, committed_at, partition
FROM committing_now
ORDER BY records DESC, group_id, partition
