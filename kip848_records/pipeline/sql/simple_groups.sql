{# The groups with offset commits that count or are pending, each with its first and its last such commit that is left. #}
SELECT
    commits.partition, commits.group_id, min(commits.offset) AS first_offset,
    unix_millis(min_by(commits.timestamp, commits.offset)) AS first_ms, max(commits.offset) AS last_offset
FROM (
    SELECT last.partition, last.group_id, last.offset, last.timestamp
    FROM {last} AS last
    WHERE {{ is_commit }} AND {{ is_readable }} AND value IS NOT NULL
{% if pending %}
    UNION ALL
    SELECT pending.partition, pending.group_id, pending.offset, pending.timestamp FROM {pending} AS pending
{% endif %}
) AS commits
WHERE commits.group_id IS NOT NULL
GROUP BY commits.partition, commits.group_id
