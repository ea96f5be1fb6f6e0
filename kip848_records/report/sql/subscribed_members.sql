-- Members that were in their groups at some time between two, with the topics to which they subscribed by name.
SELECT group_id, unix_millis(joined_at) AS joined_ms, unix_millis(left_at) AS left_ms, topics, regex
FROM membership
WHERE (joined_at IS NULL OR joined_at <= timestamp_millis(CAST(:until_ms AS bigint)))
    AND (left_at IS NULL OR left_at > timestamp_millis(CAST(:from_ms AS bigint)))
