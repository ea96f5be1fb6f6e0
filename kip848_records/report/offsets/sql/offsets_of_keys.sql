{# Return the keys of offset commits with the records that decide their value: of each key the last one that counted before
   a time, the last one of all, the last one in a transaction that was open then, and the last tombstone from then on; one
   row each, with the offset of each of the four in every row of the key.

   "Before a time" is a prefix of the partition: it ends before the first record with a later timestamp. A transactional
   commit counts from its marker on. The window of the markers runs backwards, because Spark begins a frame up to the last
   row again at each row.

   `of_group`: only the keys of :group in :partition. `topics`: else only those of these topics; each is the length and the
   name as in a key, in hex; none: all. #}
{% macro is_wanted() %}
{% if of_group %}log.partition = :partition AND log.group_id = :group{% else %}log.group_id IS NOT NULL{% endif %}
 AND {{ is_offset_commit }}
{%- if topics %}
 AND (
{%- for topic in topics %}
{{ " OR " if not loop.first }}substring(hex(log.key), CAST(9 + bit_length(log.group_id) / 4 AS int), {{ topic | length }}) = '{{ topic }}'
{%- endfor %}
)
{%- endif %}
{% endmacro %}
{% set in_partition = "log.partition = :partition AND " if of_group else "" %}
WITH bases AS (
    SELECT partition, copy, stale_from, complete_from FROM partition_history WHERE is_base
), cuts AS (
    SELECT log.partition, min(log.offset) AS until_offset
    FROM log
    WHERE {{ in_partition }}log.content <> 'knowledge' AND log.error_code IS NULL
        AND log.timestamp > timestamp_millis(CAST(:at AS bigint))
    GROUP BY log.partition
), found AS (
    SELECT
        log.partition, log.offset, log.group_id, log.key, log.value, log.timestamp, log.producer_id, log.transaction,
        log.error_code, log.copies, log.offset AS at_offset
    FROM log
    WHERE {{ is_wanted() }} AND (log.error_code IS NOT NULL OR log.transaction IN ('none', 'unknown'))
    UNION ALL
    SELECT
        marked.partition, marked.offset, marked.group_id, marked.key, marked.value, marked.timestamp,
        marked.producer_id, marked.transaction, marked.error_code, marked.copies,
        CASE
            WHEN marked.marker_offset IS NOT NULL THEN marked.marker_offset
            WHEN marked.transaction = 'committed' THEN marked.offset
        END AS at_offset
    FROM (
        SELECT
            log.*,
            min(CASE WHEN log.control IS NOT NULL THEN log.offset END) OVER producer AS marker_offset,
            min_by(log.control, CASE WHEN log.control IS NOT NULL THEN log.offset END) OVER producer AS marker_control
        FROM log
        WHERE {{ in_partition }}log.error_code IS NULL AND (
            log.control IN ('commit', 'abort') OR (log.transaction IN ('committed', 'pending') AND {{ is_wanted() }})
        )
        WINDOW producer AS (PARTITION BY log.partition, log.producer_id ORDER BY log.offset DESC)
    ) AS marked
    WHERE marked.control IS NULL AND marked.marker_control IS DISTINCT FROM 'abort'
), counted AS (
    SELECT
        found.partition, found.offset, found.group_id, found.key, found.value, found.timestamp, found.producer_id,
        found.transaction, found.error_code, found.at_offset,
        coalesce(found.at_offset < cuts.until_offset, found.at_offset IS NOT NULL) AS is_before,
        coalesce(found.offset < cuts.until_offset, true) AS is_written
    FROM found
    LEFT JOIN bases ON found.partition = bases.partition
    LEFT JOIN cuts ON found.partition = cuts.partition
    WHERE NOT coalesce(
        found.offset >= bases.stale_from AND found.offset < bases.complete_from
            AND NOT array_contains(found.copies, bases.copy),
        false
    )
), keys AS (
    SELECT
        counted.partition, counted.group_id, counted.key,
        max(CASE WHEN counted.is_before THEN counted.offset END) AS then_offset,
        max(CASE WHEN counted.at_offset IS NOT NULL THEN counted.offset END) AS last_offset,
        max(CASE WHEN counted.is_written AND NOT counted.is_before THEN counted.offset END) AS pending_offset,
        max(CASE WHEN counted.value IS NULL AND counted.error_code IS NULL AND NOT counted.is_before
            THEN counted.at_offset END) AS removed_offset
    FROM counted
    GROUP BY counted.partition, counted.group_id, counted.key
)
SELECT
    keys.partition, keys.group_id, keys.key, keys.then_offset, keys.last_offset, keys.pending_offset,
    keys.removed_offset, counted.offset AS record_offset, counted.value, unix_millis(counted.timestamp) AS at_ms,
    counted.producer_id, counted.transaction, counted.error_code
FROM keys
JOIN counted ON keys.partition = counted.partition AND keys.key = counted.key
WHERE counted.offset = keys.then_offset OR counted.offset = keys.last_offset OR counted.offset = keys.pending_offset
    OR counted.offset = keys.removed_offset
