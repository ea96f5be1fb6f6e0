{# The first rows of each verdict of an expectation, errors first, and the counts of all. `relations`: name and text of each
   relation, the last one is the expectations' own. `detail`: the columns that are returned, with `more`.
   `has_severity`: whether its rows have one of their own. `excluded`: conditions of what does not count.
   `by`: what the verdicts are counted by, their expectation first if the text is that of several. #}
{% macro columns(table, names) -%}
{% for name in names %}{{ table }}.{{ name }}{{ ", " if not loop.last }}{% endfor %}
{%- endmacro %}
WITH {% for name, body in relations.items() %}
{{ name }} AS (
{{ body }}
),
{% endfor %}
rated_ AS (
    SELECT {{ columns("evaluated_", by + place + ("message",) + more) }},
        {{ "coalesce(evaluated_.severity, limits.severity)" if has_severity else "limits.severity" }} AS severity
    FROM evaluated_
    JOIN limits ON limits.group_id IS NOT DISTINCT FROM evaluated_.group_id
{% if by | length > 1 %}
        AND limits.expectation = evaluated_.expectation
{% endif %}
    WHERE limits.severity <> 'off'
{% for condition in excluded %}
        AND ({{ condition }}) IS NOT TRUE
{% endfor %}
),
alike_ AS (
    SELECT {{ columns("rated_", by) }}{% for name in detail %}, CASE WHEN verdict <> 'pass' THEN rated_.{{ name }} END AS {{ name }}{% endfor %}

    FROM rated_
),
counted_ AS (
    SELECT {{ columns("alike_", by + detail) }}, count(*) AS n
    FROM alike_
    GROUP BY {{ columns("alike_", by + detail) }}
),
ranked_ AS (
    SELECT
        counted_.*,
        CAST(sum(n) OVER (PARTITION BY {{ by | join(", ") }}) AS bigint) AS total,
        CAST(sum(CASE WHEN severity = 'error' THEN n ELSE 0 END) OVER (PARTITION BY {{ by | join(", ") }}) AS bigint) AS errors,
        row_number() OVER (
            PARTITION BY {{ by | join(", ") }} ORDER BY {{ columns("counted_", ("severity",) + place + ("message",)) }}
        ) AS nth
    FROM counted_
)
SELECT {{ columns("ranked_", by) }}, nth, total, errors, {{ columns("ranked_", detail) }}
FROM ranked_
WHERE nth <= {{ kept }}
ORDER BY {{ by | join(", ") }}, nth
