{# The severity and the limits of each group id in `tables`, and of a null. `parts`: the expectations of one setting each, by
   their names as literals, with `columns`: name and type of each, and how many patterns have a value of their own; the first that
   matches applies. `has_names`: whether each row names its expectation. #}
{% for names, columns in parts %}
{% set part = loop.index0 %}
{{ "UNION ALL" if not loop.first }}
SELECT {{ "expectation, " if has_names }}group_id
{% for name, type, patterns in columns %}
    ,
    {% if patterns %}
    CASE
    {% for nth in range(patterns) %}
        WHEN group_id LIKE :pattern_{{ part }}_{{ nth }} ESCAPE '!' THEN CAST(:of_{{ part }}_{{ nth }}_{{ name }} AS {{ type }})
    {% endfor %}
        ELSE
    {% endif %}
        CAST(:of_{{ part }}_all_{{ name }} AS {{ type }})
    {{ "END " if patterns }}AS {{ name }}
{% endfor %}
FROM (
{% for table in tables %}
    SELECT group_id FROM {{ table }} UNION
{% endfor %}
    SELECT CAST(NULL AS string) AS group_id
) AS ids_
{% if has_names %}
CROSS JOIN (VALUES {% for name in names %}({{ name }}){{ ", " if not loop.last }}{% endfor %}) AS names_(expectation)
{% endif %}
{% endfor %}
