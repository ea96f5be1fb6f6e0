{# Return the records with the offset of the last commit with a value in their group before them; null for groups without
   records of the types that such a commit keeps from loading. #}
SELECT
{% for column in columns %}
    every.{{ column }},
{% endfor %}
    every.{{ commit_before }}
FROM (
    SELECT
        rows.*,
        max(rows.commit_offset) OVER (
            PARTITION BY rows.partition, rows.group_id ORDER BY rows.offset
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS {{ commit_before }}
    FROM (
        SELECT {% for column in columns %}records.{{ column }}, {% endfor %}CAST(NULL AS bigint) AS commit_offset
        FROM {records} AS records
        UNION ALL
        SELECT {% for column in columns %}before.{{ column }}, {% endfor %}before.offset AS commit_offset
        FROM (SELECT * FROM {commits} AS commits WHERE {{ is_commit }}) AS before
        SEMI JOIN (
            SELECT DISTINCT partition, group_id FROM {records} AS records WHERE {{ is_refused }}
        ) AS groups
        ON before.partition = groups.partition AND before.group_id = groups.group_id
    ) AS rows
) AS every
WHERE every.commit_offset IS NULL
