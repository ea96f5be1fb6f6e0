{# A row in error at an offset of which another copy holds the record loses its group. #}
SELECT log.* FROM {log} AS log WHERE log.error_code IS NULL
UNION ALL
SELECT
{% for column in columns %}
{% if column == "group_id" %}
    CASE WHEN held.offset IS NULL THEN log.group_id END AS group_id
{%- else %}
    log.{{ column }}
{%- endif %}
{{ "" if loop.last else "," }}
{% endfor %}
FROM {log} AS log
LEFT JOIN {held} AS held ON log.partition = held.partition AND log.offset = held.offset
WHERE log.error_code IS NOT NULL
