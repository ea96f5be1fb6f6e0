-- The offset commits of key type 0 whose value has a version above 0: Kafka from 4.1 on refuses to load them. Only the last
-- commit of each key is known: one that another has replaced, but that is still in the log, is not seen.
SELECT partition, group_id, key_type, latest_state.offset
FROM latest_state
WHERE key_type = record_type(LEGACY_OFFSET_COMMIT)
    AND (latest_state.value LIKE '%,"expireTimestamp":%' OR latest_state.value LIKE '%,"leaderEpoch":%')
