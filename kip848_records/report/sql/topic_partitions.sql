-- Each partition of the topic: what is in it, where the cleaner has been, and what stops it. Most records first.
SELECT
    every.partition, every.records, every.bytes, every.live_keys, every.superseded, every.kept_tombstones,
    every.superseded_since_ms, cleaned.state AS cleaning, cleaned.cleaned_until, cleaned.dirty_records, cleaned.dirty_bytes,
    cleaned.dirty_ms, cleaned.largest_batch_bytes, cleaned.largest_batch_offset, cleaned.open_transactions,
    cleaned.open_producers, cleaned.open_groups, cleaned.open_from, unix_millis(cleaned.open_since) AS open_since_ms,
    cleaned.open_ms, cleaned.last_offset - cleaned.open_from + 1 AS offsets_behind
FROM (
    SELECT
        content.partition, content.copy, CAST(sum(content.records) AS bigint) AS records,
        CASE WHEN count(content.bytes) = count(*) THEN CAST(sum(content.bytes) AS bigint) END AS bytes,
        CAST(sum(content.live_keys) AS bigint) AS live_keys, CAST(sum(content.superseded) AS bigint) AS superseded,
        CAST(sum(content.kept_tombstones) AS bigint) AS kept_tombstones,
        unix_millis(min(content.superseded_since)) AS superseded_since_ms
    FROM content_now AS content
    GROUP BY content.partition, content.copy
) AS every
LEFT JOIN compaction_now AS cleaned ON cleaned.partition = every.partition AND cleaned.copy = every.copy
ORDER BY every.records DESC, every.partition
