{# Give the records of open transactions the outcome of the next marker of their producer. The windows run backwards, so
   that they have seen the rows behind a row: for a frame up to the last row, Spark begins again at each row. #}
SELECT {% for column in columns %}log.{{ column }}{{ "" if loop.last else ", " }}{% endfor %}

FROM {log} AS log
WHERE NOT ({{ is_open }} OR control IS NOT NULL)
UNION ALL
SELECT
{% for column in columns %}
{% if column == "transaction" %}
    CASE
        WHEN resolved.control IS NOT NULL THEN resolved.transaction
        WHEN resolved.next_error < resolved.marker_offset THEN 'unknown'
        WHEN resolved.marker_control = 'commit' THEN 'committed'
        WHEN resolved.marker_control = 'abort' THEN 'aborted'
        WHEN resolved.marker_offset IS NOT NULL THEN 'unknown'
        ELSE 'pending'
    END AS transaction
{%- else %}
    resolved.{{ column }}
{%- endif %}
{{ "" if loop.last else "," }}
{% endfor %}
FROM (
    SELECT
        found.*,
        min(CASE WHEN found.control IS NOT NULL THEN found.offset END) OVER producer AS marker_offset,
        min_by(found.control, CASE WHEN found.control IS NOT NULL THEN found.offset END) OVER producer
            AS marker_control
    FROM (
        SELECT
            log.*,
            min(CASE WHEN log.error_code IS NOT NULL THEN log.offset END)
                OVER (PARTITION BY log.copies, log.partition ORDER BY log.offset DESC) AS next_error
        FROM {log} AS log
        WHERE {{ is_open }} OR control IS NOT NULL OR error_code IS NOT NULL
    ) AS found
    WHERE {{ is_open }} OR control IS NOT NULL
    WINDOW producer AS (
        PARTITION BY found.copies, found.partition, found.producer_id ORDER BY found.offset DESC
    )
) AS resolved
