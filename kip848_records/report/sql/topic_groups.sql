-- What each group has in the topic, most first. bytes_freed: an estimate, by the mean size of its records.
SELECT
    every.group_id, every.partition, every.records, every.bytes, every.commits, every.live_keys, every.superseded,
    every.kept_tombstones, every.bytes_freed,
    commits.per_second, commits.dirty_records, commits.dirty_ms, commits.unchanged, commits.dirty_unchanged,
    commits.live_keys AS committed_keys, commits.topics, commits.status, commits.age_ms, commits.gone_topics,
    commits.gone_keys, unix_millis(commits.committed_at) AS committed_ms
FROM (
    SELECT
        content.group_id, content.partition, CAST(sum(content.records) AS bigint) AS records,
        CASE WHEN count(content.bytes) = count(*) THEN CAST(sum(content.bytes) AS bigint) END AS bytes,
        CAST(sum(CASE WHEN content.key_type IN (0, 1) THEN content.records ELSE 0 END) AS bigint) AS commits,
        CAST(sum(content.live_keys) AS bigint) AS live_keys, CAST(sum(content.superseded) AS bigint) AS superseded,
        CAST(sum(content.kept_tombstones) AS bigint) AS kept_tombstones,
        CASE WHEN count(content.bytes) = count(*)
            THEN CAST(round(sum(content.bytes * content.superseded / content.records)) AS bigint) END AS bytes_freed
    FROM content_now AS content
    GROUP BY content.group_id, content.partition
) AS every
LEFT JOIN committing_now AS commits ON commits.partition = every.partition AND commits.group_id = every.group_id
ORDER BY every.records DESC, every.group_id, every.partition
