{# The commits that count of partitions that a rebalance stopped, each at the offset from which on it does, and marks: a row
   for each stop, and two for the generation before its rebalance. A transactional commit counts from its marker on: the
   next commit of its producer. That window runs backwards, because Spark begins a frame up to the last row again at each
   row. `mark_columns`: the columns of a stopped partition; `key`: those of a partition of a group. #}
{% set is_committed = "(transaction = 'committed' AND control IS NULL AND error_code IS NULL)" %}
{% macro marks(what, place, condition) %}
SELECT
{% for column in mark_columns %}
    stopped.{{ column }},
{% endfor %}
    {{ what }} AS what, stopped.{{ place }} AS at_offset,
    CAST(NULL AS timestamp) AS timestamp, CAST(NULL AS bigint) AS committed
FROM {stopped} AS stopped
{{ condition }}
{% endmacro %}
{% set generation = "WHERE stopped.round_before >= 0 AND stopped.rebalance_offset >= 0" %}
{{ marks(usual_from, "round_before", generation) }}
UNION ALL
{{ marks(usual_until, "rebalance_offset", generation) }}
UNION ALL
{{ marks(stop, "offset", "") }}
UNION ALL
SELECT
{% for column in mark_columns %}
{% if column in key %}
    counted.{{ column }},
{% else %}
    CAST(NULL AS {{ types[column] }}) AS {{ column }},
{% endif %}
{% endfor %}
    counted.what, counted.at_offset, counted.timestamp, counted.committed
FROM (
    SELECT
        decoded.partition AS offsets_partition,
        decoded.group AS group_id,
        decoded.topic,
        decoded.key_partition AS partition,
        coalesce(markers.marker_offset, decoded.offset) AS at_offset,
        CASE WHEN decoded.is_tombstone THEN {{ tombstone }} ELSE {{ commit }} END AS what,
        coalesce(markers.marker_timestamp, decoded.timestamp) AS timestamp,
        decoded.value_offset AS committed
    FROM {decoded} AS decoded
    LEFT JOIN (
        SELECT found.partition, found.offset, found.marker_offset, found.marker_timestamp
        FROM (
            SELECT
                log.*,
                min(CASE WHEN log.control = 'commit' THEN log.offset END) OVER producer AS marker_offset,
                min_by(log.timestamp, CASE WHEN log.control = 'commit' THEN log.offset END) OVER producer
                    AS marker_timestamp
            FROM {commits} AS log
            WHERE coalesce(control = 'commit', false) OR {{ is_committed }}
            WINDOW producer AS (PARTITION BY log.partition, log.producer_id ORDER BY log.offset DESC)
        ) AS found
        WHERE {{ is_committed }}
    ) AS markers
    ON decoded.partition = markers.partition AND decoded.offset = markers.offset
    WHERE decoded.transaction IN ('none', 'committed')
      AND decoded.timestamp IS NOT NULL AND (decoded.is_tombstone OR decoded.value_offset IS NOT NULL)
) AS counted
SEMI JOIN (SELECT DISTINCT {{ key | join(", ") }} FROM {stopped} AS stopped) AS wanted
ON {% for column in key %}counted.{{ column }} = wanted.{{ column }}{{ "" if loop.last else " AND " }}{% endfor %}

