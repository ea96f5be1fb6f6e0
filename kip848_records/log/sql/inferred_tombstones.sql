{# Return a tombstone for each key that is gone: the keys that were known, but neither in the topic nor among new rows.
   `known`: the last row of each key. Groups that return come first: if all tombstones fit before their groups' return at
   all, they do so here. Free offsets are numbered: those from `first` to before `until` that no row has. #}
WITH gone AS (
    SELECT found.*, max({{ is_deleted_last }}) OVER (PARTITION BY found.partition, found.group_id) AS is_deleted
    FROM (
        SELECT known.*, bounds.captured_ms
        FROM {known} AS known
        JOIN {bounds} AS bounds ON known.partition = bounds.place
        WHERE known.value IS NOT NULL AND known.error_code IS NULL AND known.offset >= bounds.start
    ) AS found
    ANTI JOIN {live} AS live ON found.partition = live.partition AND found.key = live.key
    ANTI JOIN {rows} AS new ON found.partition = new.partition AND found.key = new.key
),
back AS (
    SELECT rows.partition, rows.group_id, min(rows.offset) AS written_at
    FROM {rows} AS rows
    WHERE {{ is_of_group }}
    GROUP BY rows.partition, rows.group_id
),
numbered AS (
    SELECT
        gone.*,
        row_number() OVER (
            PARTITION BY gone.partition
            ORDER BY
                CASE WHEN gone.is_deleted THEN back.written_at END ASC NULLS LAST,
                gone.group_id ASC NULLS FIRST,
                CASE WHEN {{ is_last_of_group }} THEN 1 ELSE 0 END,
                gone.key DESC
        ) AS nth
    FROM gone
    LEFT JOIN back ON gone.partition = back.partition AND gone.group_id = back.group_id
),
needed AS (
    SELECT each.partition, count(*) AS places
    FROM (
        SELECT numbered.partition FROM numbered
        UNION ALL
        SELECT rows.partition FROM {rows} AS rows
    ) AS each
    GROUP BY each.partition
),
places AS (
    SELECT bounds.place, bounds.until, explode(sequence(bounds.first, bounds.first + needed.places)) AS offset
    FROM {bounds} AS bounds
    JOIN needed ON bounds.place = needed.partition
),
free AS (
    SELECT places.place, places.offset, row_number() OVER (PARTITION BY places.place ORDER BY places.offset) AS nth
    FROM places
    ANTI JOIN {rows} AS taken ON places.place = taken.partition AND places.offset = taken.offset
    WHERE places.offset < places.until
)
SELECT
{% for column in columns if column != "is_inferred" %}
{% if column == "offset" %}
    free.offset,
{% elif column == "timestamp" %}
    timestamp_millis(numbered.captured_ms) AS timestamp,
{% elif column == "value" %}
    CAST(NULL AS binary) AS value,
{% else %}
    numbered.{{ column }},
{% endif %}
{% endfor %}
    true AS is_inferred
FROM numbered
JOIN free ON numbered.partition = free.place AND numbered.nth = free.nth
