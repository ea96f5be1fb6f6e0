{# Keep the last row of each key. A record precedes a row in error at its offset: one copy could not read what another
   copy holds. The order is one row value, because DuckDB then aggregates instead of sorting. #}
SELECT {% for column in columns %}last.{{ column }}{{ "" if loop.last else ", " }}{% endfor %}

FROM (
    SELECT
        found.*,
        row_number() OVER (
            PARTITION BY found.partition, found.key
            ORDER BY (found.offset, found.error_code IS NULL, coalesce(unix_millis(found.timestamp), 0)) DESC
        ) AS nth
    FROM {records} AS found
) AS last
WHERE last.nth = 1
