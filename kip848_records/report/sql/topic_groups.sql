-- What each group has in the topic, most first. bytes_freed: an estimate, by the mean size of its records.
SELECT
    every.group_id, every.partition, every.records, every.bytes, every.commits, every.live_keys, every.superseded,
    every.kept_tombstones, every.bytes_freed,
    commits.per_second, commits.dirty_records, commits.dirty_ms, commits.unchanged, commits.dirty_unchanged,
    commits.live_keys AS committed_keys, commits.topics,
    commits.status, commits.age_ms, commits.gone_topics, commits.gone_keys, unix_millis(commits.committed_at) AS committed_ms
FROM (
    SELECT
        content.group_id, content.partition, total(content.records) AS records,
        total_if_known(content.bytes) AS bytes,
        total(CASE WHEN is_offset_commit(content.key_type) THEN content.records ELSE 0 END) AS commits,
        total(content.live_keys) AS live_keys, total(content.superseded) AS superseded,
        total(content.kept_tombstones) AS kept_tombstones,
        CASE WHEN count(content.bytes) = count(*)
            THEN whole(greatest(
                sum(CAST(content.bytes AS double) * content.superseded / nullif(content.records, 0)), CAST(0 AS double)
            )) END AS bytes_freed
    FROM content_now AS content
    GROUP BY content.group_id, content.partition
) AS every
LEFT JOIN committing_now AS commits ON commits.partition = every.partition AND commits.group_id = every.group_id
ORDER BY every.records DESC, every.group_id, every.partition
