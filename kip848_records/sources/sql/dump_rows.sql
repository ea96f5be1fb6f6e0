{# The rows of a dump without its readable offset commits, unless they are wanted: no other code sees those. #}
SELECT
{% for name, column in columns.items() %}
{{ column }} AS {{ name }}{{ "," if not loop.last }}
{% endfor %}
FROM {dump} AS dump
{% if not offset_commits %}
WHERE NOT coalesce({{ form.is_commit() }} AND {{ form.is_readable }}, false)
{% endif %}
