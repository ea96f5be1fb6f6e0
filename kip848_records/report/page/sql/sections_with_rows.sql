{# Which sections of single kinds of groups have rows: no other ones are read. #}
SELECT name
FROM (
{% for section in sections %}
    {{ "UNION ALL " if not loop.first }}SELECT '{{ section.name }}' AS name, count(*) AS found FROM {{ section.table }}
{% endfor %}
) AS tables
WHERE found > 0
