-- What is in the topic by type of the record, most first.
SELECT
    content.key_type, total(content.records) AS records,
    total_if_known(content.bytes) AS bytes,
    total(content.live_keys) AS live_keys, total(content.kept_tombstones) AS kept_tombstones,
    total(content.superseded) AS superseded, total(content.unchanged) AS unchanged,
    unix_millis(min(content.superseded_since)) AS superseded_since_ms
FROM content_now AS content
GROUP BY content.key_type
ORDER BY records DESC, content.key_type
