-- Each partition of the topic: what is in it, where the cleaner has been, and what stops it. Most records first.
SELECT
    every.partition, every.records, every.bytes, every.live_keys, every.superseded, every.kept_tombstones,
    every.superseded_since_ms, cleaned.state AS cleaning, cleaned.cleaned_until, cleaned.dirty_records, cleaned.dirty_bytes,
    cleaned.dirty_ms, cleaned.largest_batch_bytes, cleaned.largest_batch_offset, cleaned.open_transactions,
    cleaned.open_producers, cleaned.open_groups, cleaned.open_from, unix_millis(cleaned.open_since) AS open_since_ms,
    cleaned.open_ms, cleaned.last_offset
FROM (
    SELECT
        content.partition, content.copy, total(content.records) AS records,
        total_if_known(content.bytes) AS bytes,
        total(content.live_keys) AS live_keys, total(content.superseded) AS superseded,
        total(content.kept_tombstones) AS kept_tombstones,
        unix_millis(min(content.superseded_since)) AS superseded_since_ms
    FROM content_now AS content
    GROUP BY content.partition, content.copy
) AS every
LEFT JOIN compaction_now AS cleaned ON cleaned.partition = every.partition AND cleaned.copy = every.copy
ORDER BY every.records DESC, every.partition, every.copy, cleaned.nth
