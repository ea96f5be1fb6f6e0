{# Keep the last row of each key. A record precedes a row in error at its offset: one copy could not read what another
   copy holds. #}
SELECT {% for column in columns %}last.{{ column }}{{ "" if loop.last else ", " }}{% endfor %}

FROM (
    SELECT
        found.*,
        row_number() OVER (
            PARTITION BY found.partition, found.key
            ORDER BY found.offset DESC, CASE WHEN found.error_code IS NULL THEN 0 ELSE 1 END, found.timestamp DESC
        ) AS nth
    FROM {records} AS found
) AS last
WHERE last.nth = 1
