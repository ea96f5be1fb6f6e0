{# Which sections of single kinds of groups have rows: the page reads no other ones. #}
SELECT name
FROM (
{% for section in sections %}
{% set is_first = loop.first %}
{% for table in section.tables %}
    {{ "UNION ALL " if not (is_first and loop.first) }}SELECT '{{ section.name }}' AS name, count(*) AS found FROM {{ table }}
{% endfor %}
{% endfor %}
) AS tables
WHERE found > 0
