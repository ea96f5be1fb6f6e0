{# The severity and the limits of each group id in `tables`, and of a null. `columns`: name and type of each, and how many
   patterns have a value of their own; the first that matches applies. #}
SELECT group_id
{% for name, type, patterns in columns %}
    ,
    {% if patterns %}
    CASE
    {% for nth in range(patterns) %}
        WHEN group_id LIKE :pattern_{{ nth }} ESCAPE '!' THEN CAST(:of_{{ nth }}_{{ name }} AS {{ type }})
    {% endfor %}
        ELSE
    {% endif %}
        CAST(:of_all_{{ name }} AS {{ type }})
    {{ "END " if patterns }}AS {{ name }}
{% endfor %}
FROM (
{% for table in tables %}
    SELECT group_id FROM {{ table }} UNION
{% endfor %}
    SELECT CAST(NULL AS string) AS group_id
) AS ids_
