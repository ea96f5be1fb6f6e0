{# The offsets of a dump in each partition, and the offset commits that do not become rows, in one pass.
   62 offsets are the bits of a number: rows may occur twice, and a set of offsets would need as much memory as they. #}
WITH placed AS (
SELECT {{ form.partition }} AS partition, CAST(dump.offset AS bigint) AS place
{% if not offset_commits %}
, CASE WHEN {{ form.is_readable }} THEN
{% for kind in offset_commit_types %}
{{ "CASE" if loop.first }} WHEN {{ form.is_commit(kind) }} THEN {{ kind }}
{% endfor %}
END END AS skipped, {{ form.ms }} AS ms
{% endif %}
FROM {dump} AS dump
WHERE {{ form.is_of_log }}
), blocks AS (
SELECT partition, min(place) AS first_offset, max(place) AS last_offset,
bit_or(CAST(1 AS bigint) << CAST(abs(place % 62) AS int)) AS bits
{% if not offset_commits %}
{% for kind in offset_commit_types %}
, count(CASE WHEN skipped = {{ kind }} THEN 1 END) AS type_{{ kind }}
{% endfor %}
, max(CASE WHEN skipped IS NOT NULL AND ms <> {{ no_timestamp }} THEN ms END) AS newest_ms
{% endif %}
FROM placed
WHERE partition IS NOT NULL AND place IS NOT NULL
GROUP BY partition, place - place % 62 - CASE WHEN place < 0 THEN 1 ELSE 0 END
)
SELECT partition, min(first_offset) AS first_offset, max(last_offset) AS last_offset, sum(bit_count(bits)) AS offsets
{% if not offset_commits %}
{% for kind in offset_commit_types %}
, sum(type_{{ kind }}) AS type_{{ kind }}
{% endfor %}
, max(newest_ms) AS newest_ms
{% endif %}
FROM blocks
GROUP BY partition
