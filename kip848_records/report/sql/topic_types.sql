-- What is in the topic by type of the record, most first.
SELECT
    content.key_type, CAST(sum(content.records) AS bigint) AS records,
    CASE WHEN count(content.bytes) = count(*) THEN CAST(sum(content.bytes) AS bigint) END AS bytes,
    CAST(sum(content.live_keys) AS bigint) AS live_keys, CAST(sum(content.kept_tombstones) AS bigint) AS kept_tombstones,
    CAST(sum(content.superseded) AS bigint) AS superseded, CAST(sum(content.unchanged) AS bigint) AS unchanged,
    unix_millis(min(content.superseded_since)) AS superseded_since_ms
FROM content_now AS content
GROUP BY content.key_type
ORDER BY records DESC, content.key_type
