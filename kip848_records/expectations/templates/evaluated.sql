{# The first rows of each verdict of an expectation, errors first, and the counts of all. `relations`: name and text of each
   relation, the last one is the expectation's own. `detail`: the columns that are returned, with `more`.
   `has_severity`: whether its rows have one of their own. `excluded`: conditions of what does not count. #}
{% macro columns(table, names) -%}
{% for name in names %}{{ table }}.{{ name }}{{ ", " if not loop.last }}{% endfor %}
{%- endmacro %}
WITH {% for name, body in relations.items() %}
{{ name }} AS (
{{ body }}
),
{% endfor %}
rated_ AS (
    SELECT evaluated_.verdict, {{ columns("evaluated_", place + ("message",) + more) }},
        {{ "coalesce(evaluated_.severity, limits.severity)" if has_severity else "limits.severity" }} AS severity
    FROM evaluated_
    JOIN limits ON limits.group_id IS NOT DISTINCT FROM evaluated_.group_id
    WHERE limits.severity <> 'off'
{% for condition in excluded %}
        AND ({{ condition }}) IS NOT TRUE
{% endfor %}
),
alike_ AS (
    SELECT verdict{% for name in detail %}, CASE WHEN verdict <> 'pass' THEN rated_.{{ name }} END AS {{ name }}{% endfor %}

    FROM rated_
),
counted_ AS (
    SELECT verdict, {{ columns("alike_", detail) }}, count(*) AS n
    FROM alike_
    GROUP BY verdict, {{ columns("alike_", detail) }}
),
ranked_ AS (
    SELECT
        counted_.*,
        CAST(sum(n) OVER (PARTITION BY verdict) AS bigint) AS total,
        CAST(sum(CASE WHEN severity = 'error' THEN n ELSE 0 END) OVER (PARTITION BY verdict) AS bigint) AS errors,
        row_number() OVER (
            PARTITION BY verdict ORDER BY {{ columns("counted_", ("severity",) + place + ("message",)) }}
        ) AS nth
    FROM counted_
)
SELECT verdict, nth, total, errors, {{ columns("ranked_", detail) }}
FROM ranked_
WHERE nth <= {{ kept }}
ORDER BY verdict, nth
