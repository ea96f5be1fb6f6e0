{# Keep one of several equal rows. One shuffle brings the rows of an offset together: `readable` is a column, because
   Spark recognises no order of an expression. Both windows have the same order, so that Spark sorts once more only.
   `columns`: those of the log; `several`: whether a kept row names all copies that hold it. #}
{% set record = "found.partition, found.offset, found.readable, found.key, found.value" %}
SELECT
{% for column in columns %}
{% if column == "error_code" %}
    CASE WHEN marked.is_conflict THEN '{{ code }}' ELSE marked.error_code END AS error_code
{%- elif column == "error" %}
    CASE WHEN marked.is_conflict THEN {{ conflict }} ELSE marked.error END AS error
{%- elif column == "copies" and several %}
    CASE WHEN marked.readable THEN marked.all_copies ELSE marked.copies END AS copies
{%- else %}
    marked.{{ column }}
{%- endif %}
{{ "" if loop.last else "," }}
{% endfor %}
FROM (
    SELECT
        kept.*,
        kept.readable AND count(*) OVER (PARTITION BY kept.partition, kept.offset, kept.readable) > 1 AS is_conflict
    FROM (
        SELECT
            found.*,
{% if several %}
            array_sort(array_distinct(array_agg(array_min(found.copies)) OVER (PARTITION BY {{ record }})))
                AS all_copies,
{% endif %}
            row_number() OVER (
                PARTITION BY {{ record }}
                ORDER BY
                    CASE WHEN found.transaction IN ('none', 'committed', 'aborted') THEN 0 ELSE 1 END,
                    found.transaction, found.leader_epoch IS NULL, found.leader_epoch, found.timestamp,
                    found.timestamp_type, found.producer_id, found.copies
            ) AS nth
        FROM (
            SELECT /*+ REPARTITION(partition, offset) */ log.*, {{ is_readable }} AS readable
            FROM {log} AS log
        ) AS found
    ) AS kept
    WHERE kept.nth = 1 OR NOT kept.readable
) AS marked
