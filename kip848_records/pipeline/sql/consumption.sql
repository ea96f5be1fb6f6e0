{# The marks of partitions that a rebalance stopped, and the commits of these partitions that count, each at the offset from
   which on it does. A transactional commit counts from its marker on: the next commit of its producer. That window runs
   backwards, because Spark begins a frame up to the last row again at each row. Of a commit that decodes, the key has
   one form, and in each version of the value the offset is an int64 behind the version: its two halves are unsigned
   here. #}
{% set is_record = "control IS NULL AND error_code IS NULL AND timestamp IS NOT NULL" %}
{% macro half(place) %}CAST(conv(substring(hex(counted.value), {{ place }}, 8), 16, 10) AS bigint){% endmacro %}
SELECT
    marks.offsets_partition, marks.number, marks.what, marks.at_offset, CAST(NULL AS timestamp) AS timestamp,
    CAST(NULL AS bigint) AS committed, marks.mark
FROM {marks} AS marks
UNION ALL
SELECT
    wanted.offsets_partition, wanted.number, CASE WHEN counted.value IS NULL THEN {{ tombstone }} ELSE {{ commit }} END,
    counted.at_offset, counted.timestamp,
    ({{ half(5) }} - CASE WHEN {{ half(5) }} >= 2147483648 THEN 4294967296 ELSE 0 END) * 4294967296 + {{ half(13) }},
    NULL
FROM (
    SELECT log.partition, log.offset, log.key, log.value, log.offset AS at_offset, log.timestamp
    FROM {commits} AS log
    WHERE log.transaction = 'none' AND {{ is_record }}
    UNION ALL
    SELECT
        found.partition, found.offset, found.key, found.value,
        coalesce(found.marker_offset, found.offset), coalesce(found.marker_timestamp, found.timestamp)
    FROM (
        SELECT
            log.*,
            min(CASE WHEN log.control = 'commit' THEN log.offset END) OVER producer AS marker_offset,
            min_by(log.timestamp, CASE WHEN log.control = 'commit' THEN log.offset END) OVER producer
                AS marker_timestamp
        FROM {commits} AS log
        WHERE coalesce(control = 'commit', false)
           OR (transaction = 'committed' AND control IS NULL AND error_code IS NULL)
        WINDOW producer AS (PARTITION BY log.partition, log.producer_id ORDER BY log.offset DESC)
    ) AS found
    WHERE transaction = 'committed' AND {{ is_record }}
) AS counted
JOIN {wanted} AS wanted ON counted.partition = wanted.offsets_partition AND counted.key = wanted.key
ANTI JOIN {undecoded} AS undecoded
ON counted.partition = undecoded.partition AND counted.offset = undecoded.offset
