{# Partitions whose committed offset stood still while another group read on, and moved again with a rebalance. Times without
   progress and the rebalances in them are in `consumption_stop`: the last rebalance in such a time ended it. A partition
   stood still for longer than a batch may take, by the same measure as in `consumption_now`: times that ended with a
   rebalance too are no measure. Times are in ms; begun_ms: of a rebalance with which it began. #}
WITH stalls AS (
    SELECT
        stops.offsets_partition, stops.group_id, stops.incarnation, stops.topic, stops.partition,
        unix_millis(stops.last_progress_at) AS last_ms, unix_millis(stops.first_progress_at) AS first_ms,
        max(stops.offset) AS offset, max_by(stops.rebalance_offset, stops.offset) AS rebalance_offset,
        min_by(stops.rebalance_offset, stops.offset) AS first_rebalance_offset
    FROM {consumption_stop} AS stops
    WHERE stops.history = 'observed' AND stops.first_progress_at IS NOT NULL
        AND unix_millis(stops.first_progress_at) - unix_millis(stops.last_progress_at) >= {{ shortest_ms }}
    GROUP BY
        stops.offsets_partition, stops.group_id, stops.incarnation, stops.topic, stops.partition,
        stops.last_progress_at, stops.first_progress_at
), ended AS (
    SELECT
        stalls.*, unix_millis(found.began_at) AS began_ms,
        unix_millis(coalesce(found.ended_at, found.began_at)) AS ended_ms, unix_millis(earlier.began_at) AS begun_ms
    FROM stalls
    JOIN {rebalance} AS found
        ON found.partition = stalls.offsets_partition AND found.group_id = stalls.group_id
        AND found.incarnation = stalls.incarnation AND found.began_offset = stalls.rebalance_offset
    LEFT JOIN {rebalance} AS earlier
        ON earlier.partition = stalls.offsets_partition AND earlier.group_id = stalls.group_id
        AND earlier.incarnation = stalls.incarnation AND earlier.began_offset = stalls.first_rebalance_offset
        AND stalls.first_rebalance_offset < stalls.rebalance_offset
), owned AS (
    SELECT held.*
    FROM (
        SELECT
            ended.*, stays.member_id, stays.instance_id, stays.client_id, stays.topic_id,
            unix_millis(stays.acquired_at) AS acquired_ms, stays.usual_ms, stays.member_rhythm_ms,
            coalesce(stays.min_silence_ms, stays.rebalance_timeout_ms, 300000) AS min_silence_ms,
            row_number() OVER (
                PARTITION BY ended.offsets_partition, ended.group_id, ended.incarnation, ended.topic, ended.partition,
                    ended.offset
                ORDER BY stays.acquired_offset DESC
            ) AS nth
        FROM ended
        JOIN {commit_progress} AS stays
            ON stays.offsets_partition = ended.offsets_partition AND stays.group_id = ended.group_id
            AND stays.incarnation = ended.incarnation AND stays.topic = ended.topic AND stays.partition = ended.partition
            AND stays.owner = 'member' AND stays.acquired_offset < ended.rebalance_offset
            AND coalesce(stays.released_offset >= ended.rebalance_offset, true)
    ) AS held
    WHERE held.nth = 1 AND held.began_ms - greatest(held.last_ms, held.acquired_ms) >= held.min_silence_ms
), own AS (
    SELECT
        commits.partition AS offsets_partition, commits.group_id, commits.topic, commits.topic_partition AS partition,
        commits.offset, commits.committed, unix_millis(commits.timestamp) AS at_ms,
        lag(commits.committed) OVER (
            PARTITION BY commits.partition, commits.group_id, commits.topic, commits.topic_partition ORDER BY commits.offset
        ) AS before
    FROM {commits} AS commits
    SEMI JOIN owned
        ON owned.offsets_partition = commits.partition AND owned.group_id = commits.group_id
        AND owned.topic = commits.topic AND owned.partition = commits.topic_partition
    WHERE commits.error_code IS NULL AND commits.transaction <> 'pending' AND commits.committed >= 0
), steps AS (
    SELECT
        own.offsets_partition, own.group_id, own.topic, own.partition, own.at_ms,
        own.at_ms - lag(own.at_ms) OVER (
            PARTITION BY own.offsets_partition, own.group_id, own.topic, own.partition ORDER BY own.offset
        ) AS step_ms
    FROM own
    WHERE own.committed > own.before
), longest AS (
    SELECT steps.offsets_partition, steps.group_id, steps.topic, steps.partition, max(steps.step_ms) AS step_ms
    FROM steps
    LEFT JOIN stalls
        ON stalls.offsets_partition = steps.offsets_partition AND stalls.group_id = steps.group_id
        AND stalls.topic = steps.topic AND stalls.partition = steps.partition AND stalls.first_ms = steps.at_ms
    WHERE stalls.offset IS NULL
    GROUP BY steps.offsets_partition, steps.group_id, steps.topic, steps.partition
), still AS (
    SELECT
        owned.offsets_partition, owned.group_id, owned.incarnation, owned.topic, owned.partition, owned.offset,
        max_by(own.committed, own.offset) AS committed
    FROM owned
    JOIN own
        ON own.offsets_partition = owned.offsets_partition AND own.group_id = owned.group_id AND own.topic = owned.topic
        AND own.partition = owned.partition AND own.offset < owned.offset
    GROUP BY
        owned.offsets_partition, owned.group_id, owned.incarnation, owned.topic, owned.partition, owned.offset
), ahead AS (
    SELECT
        owned.offsets_partition, owned.group_id, owned.incarnation, owned.topic, owned.partition, owned.offset,
        min(unix_millis(commits.timestamp)) AS waits_ms, max(commits.committed) - min(still.committed) AS ahead_by,
        max_by(commits.group_id, (commits.committed, commits.group_id)) AS ahead_group
    FROM owned
    JOIN still
        ON still.offsets_partition = owned.offsets_partition AND still.group_id = owned.group_id
        AND still.incarnation = owned.incarnation AND still.topic = owned.topic AND still.partition = owned.partition
        AND still.offset = owned.offset
    JOIN {commit_progress} AS others
        ON others.topic = owned.topic AND others.partition = owned.partition AND others.group_id <> owned.group_id
        AND others.owner = 'member' AND others.max_offset > still.committed
        AND coalesce(others.topic_id, owned.topic_id, '') = coalesce(owned.topic_id, others.topic_id, '')
    JOIN {commits} AS commits
        ON commits.partition = others.offsets_partition AND commits.group_id = others.group_id
        AND commits.topic = others.topic AND commits.topic_partition = others.partition
        AND commits.offset > others.acquired_offset AND commits.offset < coalesce(others.released_offset, {{ far }})
    WHERE commits.error_code IS NULL AND commits.transaction <> 'pending' AND commits.committed > still.committed
        AND unix_millis(commits.timestamp) < owned.began_ms
    GROUP BY
        owned.offsets_partition, owned.group_id, owned.incarnation, owned.topic, owned.partition, owned.offset
), evaluated AS (
    SELECT
        owned.*, ahead.waits_ms, ahead.ahead_by, ahead.ahead_group, still.committed,
        greatest(owned.last_ms, owned.acquired_ms, ahead.waits_ms) AS from_ms,
        greatest(
            owned.min_silence_ms, 3 * coalesce(longest.step_ms, 0), 3 * coalesce(owned.member_rhythm_ms, 0)
        ) AS need_ms,
        greatest({{ recovered_ms }}, 3 * coalesce(owned.usual_ms, 0), 3 * coalesce(owned.member_rhythm_ms, 0))
            AS recovered_ms
    FROM owned
    JOIN ahead
        ON ahead.offsets_partition = owned.offsets_partition AND ahead.group_id = owned.group_id
        AND ahead.incarnation = owned.incarnation AND ahead.topic = owned.topic AND ahead.partition = owned.partition
        AND ahead.offset = owned.offset
    JOIN still
        ON still.offsets_partition = owned.offsets_partition AND still.group_id = owned.group_id
        AND still.incarnation = owned.incarnation AND still.topic = owned.topic AND still.partition = owned.partition
        AND still.offset = owned.offset
    LEFT JOIN longest
        ON longest.offsets_partition = owned.offsets_partition AND longest.group_id = owned.group_id
        AND longest.topic = owned.topic AND longest.partition = owned.partition
)
SELECT
    evaluated.offsets_partition, evaluated.group_id, evaluated.incarnation, evaluated.topic, evaluated.partition, evaluated.member_id,
    evaluated.instance_id, evaluated.client_id, hosts.client_host, evaluated.offset, evaluated.committed,
    evaluated.ahead_by, evaluated.ahead_group, evaluated.from_ms, evaluated.first_ms AS until_ms, evaluated.began_ms, evaluated.need_ms,
    CASE WHEN evaluated.begun_ms - evaluated.last_ms <= evaluated.recovered_ms THEN evaluated.begun_ms END AS begun_ms
FROM evaluated
LEFT JOIN member_hosts AS hosts
    ON hosts.partition = evaluated.offsets_partition AND hosts.group_id = evaluated.group_id
    AND hosts.member_id = evaluated.member_id
WHERE evaluated.began_ms - evaluated.from_ms >= evaluated.need_ms
    AND evaluated.first_ms - evaluated.ended_ms <= evaluated.recovered_ms
ORDER BY evaluated.offsets_partition, evaluated.group_id, evaluated.member_id, evaluated.offset, evaluated.topic, evaluated.partition
