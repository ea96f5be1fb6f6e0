{# The offsets of a dump in each partition, and the offset commits that do not become rows, in one pass.
   62 offsets are the bits of a number: rows may occur twice, and a set of offsets would need as much memory as they.
   Rows that are not of a place in this log are those without a partition, or without a first offset.
   Each row pays for what is here: nearly all are offset commits of the last type, which is compared first. #}
WITH placed AS (
SELECT CASE WHEN {{ form.is_of_log }} THEN {{ form.partition }} END AS partition, CAST(dump.offset AS bigint) AS place,
{% if offset_commits %}
CAST(NULL AS int) AS skipped, CAST(NULL AS bigint) AS time
{% else %}
CASE WHEN {{ form.is_readable }} THEN CASE
{% for kind in offset_commit_types | sort(reverse=true) %}
WHEN {{ form.is_commit(kind) }} THEN {{ kind }}
{% endfor %}
END WHEN {{ form.is_commit() }} THEN -1 END AS skipped, {{ form.time }} AS time
{% endif %}
FROM {dump} AS dump
), blocks AS (
SELECT partition, min(place) AS first_offset, max(place) AS last_offset, count(place) AS rows_read,
bit_or(CAST(1 AS bigint) << CAST(abs(place % 62) AS int)) AS bits,
{% for kind in offset_commit_types %}
count(CASE WHEN skipped = {{ kind }} THEN 1 END) AS type_{{ kind }},
{% endfor %}
count(CASE WHEN skipped = -1 THEN 1 END) AS commits_in_error,
max(CASE WHEN skipped >= 0 AND NOT {{ form.is_at(no_timestamp) }} THEN time END) AS newest
FROM placed
GROUP BY partition, place - place % 62 - CASE WHEN place < 0 THEN 1 ELSE 0 END
)
SELECT partition, min(first_offset) AS first_offset, max(last_offset) AS last_offset, sum(rows_read) AS rows_read,
sum(bit_count(bits)) AS offsets,
{% for kind in offset_commit_types %}
sum(type_{{ kind }}) AS type_{{ kind }},
{% endfor %}
sum(commits_in_error) AS commits_in_error, max(newest) AS newest, {{ form.per_ms }} AS per_ms
FROM blocks
GROUP BY partition
