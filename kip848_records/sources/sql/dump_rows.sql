{# The rows of a dump without those that are skipped: no other code sees those. #}
SELECT
{% for name, column in columns.items() %}
{{ column }} AS {{ name }}{{ "," if not loop.last }}
{% endfor %}
FROM {dump} AS dump
{% if skipped %}
WHERE NOT coalesce({{ skipped }}, false)
{% endif %}
