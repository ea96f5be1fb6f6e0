{# The rows of the pass over offset commits: commits that count, each at the offset from which on it does, and the marks
   of what the replay found. A transactional commit counts from its marker on: the next commit of its producer. That
   window runs backwards, because Spark begins a frame up to the last row again at each row. Of several commits of a
   partition in one transaction, only the last ever counts. #}
{% macro nothing(names) %}{% for name in names %}CAST(NULL AS {{ types[name] }}){% if not loop.last %}, {% endif %}{% endfor %}{% endmacro %}
SELECT
    counted.partition, counted.group_id, counted.at_offset, {{ commit }} AS what, counted.offset, counted.timestamp,
    counted.topic, counted.topic_partition, counted.committed, nullif(counted.topic_id, '{{ no_uuid }}') AS topic_id,
    counted.expires_ms, counted.retention_ms,
    {% for name in of_marks %}CAST(NULL AS {{ types[name] }}) AS {{ name }}{% if not loop.last %}, {% endif %}{% endfor %}

FROM (
    SELECT
        plain.partition, plain.group_id, plain.offset AS at_offset, plain.offset, plain.timestamp, plain.topic,
        plain.topic_partition, plain.committed, plain.topic_id, plain.expires_ms, plain.retention_ms
    FROM {checked} AS plain
    WHERE plain.error_code IS NULL AND plain.transaction NOT IN ('committed', 'pending')
    UNION ALL
    SELECT
        found.partition, found.group_id, coalesce(found.marker_offset, found.offset), found.offset,
        coalesce(found.marker_timestamp, found.timestamp), found.topic, found.topic_partition, found.committed,
        found.topic_id, found.expires_ms, found.retention_ms
    FROM (
        SELECT
            either.*,
            min(CASE WHEN either.is_marker THEN either.offset END) OVER producer AS marker_offset,
            min_by(either.timestamp, CASE WHEN either.is_marker THEN either.offset END) OVER producer
                AS marker_timestamp,
            lag(either.offset) OVER (
                PARTITION BY
                    either.partition, either.producer_id, either.group_id, either.topic, either.topic_partition
                ORDER BY either.offset DESC
            ) AS next_offset
        FROM (
            SELECT
                markers.partition, markers.producer_id, markers.offset, markers.timestamp, true AS is_marker,
                CAST(NULL AS string) AS group_id, CAST(NULL AS string) AS topic, CAST(NULL AS int) AS topic_partition,
                CAST(NULL AS bigint) AS committed, CAST(NULL AS string) AS topic_id,
                CAST(NULL AS bigint) AS expires_ms, CAST(NULL AS bigint) AS retention_ms
            FROM {commits} AS markers
            WHERE coalesce(markers.control = 'commit', false)
            UNION ALL
            SELECT
                written.partition, written.producer_id, written.offset, written.timestamp, false, written.group_id,
                written.topic, written.topic_partition, written.committed, written.topic_id, written.expires_ms,
                written.retention_ms
            FROM {checked} AS written
            WHERE written.error_code IS NULL AND written.transaction = 'committed'
        ) AS either
        WINDOW producer AS (PARTITION BY either.partition, either.producer_id ORDER BY either.offset DESC)
    ) AS found
    WHERE NOT found.is_marker AND NOT coalesce(found.next_offset < found.marker_offset, false)
) AS counted
UNION ALL
SELECT
    stays.offsets_partition, stays.group_id, stays.acquired_offset, {{ acquire }}, stays.acquired_offset,
    stays.acquired_at, stays.topic, stays.partition, {{ nothing(of_commits) }},
    stays.incarnation, CAST(NULL AS int), stays.group_type, stays.member_id, stays.acquired_offset,
    stays.released_offset, stays.released_at, stays.history, stays.instance_id, stays.client_id,
    stays.rebalance_timeout_ms, coalesce(stays.topic = stays.topic_id, false)
FROM {stays} AS stays
UNION ALL
SELECT
    ended.offsets_partition, ended.group_id, ended.released_offset, {{ release }}, ended.released_offset,
    ended.released_at, ended.topic, ended.partition, {{ nothing(of_commits) }},
    ended.incarnation, CAST(NULL AS int), ended.group_type, ended.member_id, ended.acquired_offset,
    ended.released_offset, ended.released_at, ended.history,
    {{ nothing(["instance_id", "client_id", "rebalance_timeout_ms", "is_unnamed"]) }}
FROM {stays} AS ended
WHERE ended.released_offset IS NOT NULL
UNION ALL
SELECT DISTINCT
    stopped.offsets_partition, stopped.group_id, stopped.offset, {{ stop }}, stopped.offset, CAST(NULL AS timestamp),
    stopped.topic, stopped.partition,
    {{ nothing(of_commits + ["incarnation", "phase", "group_type", "member_id"]) }}, stopped.rebalance_offset,
    {{ nothing(["until_offset", "until", "history", "instance_id", "client_id", "rebalance_timeout_ms", "is_unnamed"]) }}
FROM {stopped} AS stopped
UNION ALL
SELECT
    states.partition, states.group_id, states.from_offset, {{ phase }}, states.from_offset, states.from_at,
    {{ nothing(["topic", "topic_partition"] + of_commits) }}, states.incarnation,
    CASE states.state WHEN 'Empty' THEN {{ empty }} WHEN 'unknown' THEN {{ not_shown }} ELSE {{ with_members }} END,
    states.group_type, {{ nothing(["member_id", "acquired_offset", "until_offset", "until", "history", "instance_id", "client_id", "rebalance_timeout_ms", "is_unnamed"]) }}
FROM {states} AS states
UNION ALL
SELECT
    lives.partition, lives.group_id, max(lives.to_offset), {{ no_group }}, max(lives.to_offset), max(lives.to_at),
    {{ nothing(["topic", "topic_partition"] + of_commits) }}, lives.incarnation,
    {{ nothing(["phase", "group_type", "member_id", "acquired_offset", "until_offset", "until", "history", "instance_id", "client_id", "rebalance_timeout_ms", "is_unnamed"]) }}
FROM {states} AS lives
GROUP BY lives.partition, lives.group_id, lives.incarnation
HAVING count(*) = count(lives.to_offset)
UNION ALL
SELECT
    known.partition, known.group_id, CAST(-1 AS bigint), {{ phase }}, CAST(-1 AS bigint), CAST(NULL AS timestamp),
    {{ nothing(["topic", "topic_partition"] + of_commits) }}, min(known.incarnation), {{ not_shown }},
    {{ nothing(["group_type", "member_id", "acquired_offset", "until_offset", "until", "history", "instance_id", "client_id", "rebalance_timeout_ms", "is_unnamed"]) }}
FROM {states} AS known
GROUP BY known.partition, known.group_id
