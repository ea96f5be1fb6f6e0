{# What is in each partition of each copy, and in the part that the cleaner has not been to: files behind the last one in
   which it left a gap. The cleaner replaces whole segments, in which no key is left twice. So a file with a gap and without
   a repeated key is clean to its end, and so are those before it; behind a repeated key, missing offsets were lost. Of keys
   each file has the smallest hashes: all, or as many as are kept, from which their number is estimated. #}
WITH files AS (
    SELECT
        found.partition, found.copy, found.file.base_offset AS base_offset, found.file.last_offset AS last_offset,
        found.file.last_gap_end AS last_gap_end, found.file.first_repeated_offset AS first_repeated,
        found.file.contents AS contents, get(found.by_key, 0) AS by_key
    FROM (
        SELECT log.partition, explode(log.copies) AS copy, log.file, log.by_key
        FROM log
        WHERE log.cluster = :cluster AND log.file IS NOT NULL AND log.partition IS NOT NULL
    ) AS found
    WHERE found.file.contents IS NOT NULL AND found.file.last_offset IS NOT NULL
), ordered AS (
    SELECT
        files.*, row_number() OVER in_order AS nth, lag(files.last_offset) OVER in_order AS offset_before,
        count(files.first_repeated) OVER (
            PARTITION BY files.partition, files.copy ORDER BY files.base_offset
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - CASE WHEN files.first_repeated IS NULL THEN 0 ELSE 1 END AS repeated_before
    FROM files
    WINDOW in_order AS (PARTITION BY files.partition, files.copy ORDER BY files.base_offset)
), marked AS (
    SELECT
        ordered.*,
        CASE
            WHEN ordered.repeated_before > 0 THEN NULL
            WHEN ordered.last_gap_end IS NOT NULL AND ordered.first_repeated IS NULL THEN ordered.last_offset + 1
            WHEN ordered.last_gap_end IS NOT NULL THEN ordered.last_gap_end
            WHEN ordered.base_offset > ordered.offset_before + 1 THEN ordered.base_offset
        END AS cleaned_until
    FROM ordered
), bounded AS (
    SELECT
        marked.*, max(marked.cleaned_until) OVER (PARTITION BY marked.partition, marked.copy) AS cleaned,
        max(marked.contents.largest_bytes) OVER (PARTITION BY marked.partition, marked.copy) AS largest_bytes
    FROM marked
), parts AS (
    SELECT bounded.*, bounded.cleaned IS NULL OR bounded.last_offset >= bounded.cleaned AS is_dirty
    FROM bounded
), hashes AS (
    SELECT DISTINCT each.partition, each.copy, each.hash
    FROM (
        SELECT parts.partition, parts.copy, explode(parts.contents.dirty_keys) AS hash FROM parts WHERE parts.is_dirty
    ) AS each
), ranked AS (
    SELECT
        hashes.*, row_number() OVER (PARTITION BY hashes.partition, hashes.copy ORDER BY hashes.hash) AS nth
    FROM hashes
), keys AS (
    SELECT
        ranked.partition, ranked.copy, count(*) AS found,
        max(CASE WHEN ranked.nth = {{ keys_kept }} THEN ranked.hash END) AS last_kept
    FROM ranked
    GROUP BY ranked.partition, ranked.copy
), summed AS (
    SELECT
        parts.partition, parts.copy, count(*) AS files, sum(parts.contents.records) AS records,
        sum(parts.contents.bytes) AS bytes, min(parts.base_offset) AS first_offset, max(parts.last_offset) AS last_offset,
        min(parts.contents.oldest) AS oldest_at, max(parts.contents.newest) AS newest_at,
        max(parts.cleaned) AS cleaned_until, sum(CASE WHEN parts.is_dirty THEN 1 ELSE 0 END) AS dirty_files,
        sum(CASE WHEN parts.is_dirty THEN parts.contents.dirty_records ELSE 0 END) AS dirty_records,
        sum(CASE WHEN parts.is_dirty THEN parts.contents.dirty_bytes ELSE 0 END) AS dirty_bytes,
        min(CASE WHEN parts.is_dirty THEN parts.contents.dirty_oldest END) AS dirty_since,
        max(CASE WHEN parts.is_dirty THEN size(parts.contents.dirty_keys) ELSE 0 END) AS most_kept,
        max(parts.largest_bytes) AS largest_batch_bytes,
        min(CASE WHEN parts.contents.largest_bytes = parts.largest_bytes THEN parts.contents.largest_offset END)
            AS largest_batch_offset,
        count(parts.by_key) AS counted_by_key
    FROM parts
    GROUP BY parts.partition, parts.copy
), ended AS (
    SELECT each.partition, each.copy, each.producer_id, max(each.base_offset) AS base_offset
    FROM (
        SELECT parts.partition, parts.copy, parts.base_offset, explode(parts.by_key.ended) AS producer_id FROM parts
    ) AS each
    GROUP BY each.partition, each.copy, each.producer_id
), opened AS (
    SELECT
        each.partition, each.copy, each.base_offset, each.found.producer_id AS producer_id,
        each.found.first_offset AS first_offset, each.found.first_at AS first_at, each.found.group_ids AS group_ids
    FROM (
        SELECT parts.partition, parts.copy, parts.base_offset, explode(parts.by_key.open) AS found FROM parts
    ) AS each
), hanging AS (
    SELECT
        opened.partition, opened.copy, count(DISTINCT opened.producer_id) AS transactions,
        array_sort(array_distinct(collect_list(opened.producer_id))) AS producers,
        array_sort(array_distinct(flatten(collect_list(opened.group_ids)))) AS group_ids,
        min(opened.first_offset) AS first_offset, min_by(opened.first_at, opened.first_offset) AS first_at
    FROM opened
    LEFT JOIN ended
        ON ended.partition = opened.partition AND ended.copy = opened.copy AND ended.producer_id = opened.producer_id
        AND ended.base_offset > opened.base_offset
    WHERE ended.producer_id IS NULL
    GROUP BY opened.partition, opened.copy
)
SELECT
    summed.partition, summed.copy, summed.files, summed.records, summed.bytes, summed.first_offset, summed.last_offset,
    summed.oldest_at, summed.newest_at, summed.cleaned_until, summed.dirty_files, summed.dirty_records,
    CASE
        WHEN keys.found IS NULL THEN CAST(0 AS bigint)
        WHEN summed.most_kept < {{ keys_kept }} OR keys.last_kept IS NULL THEN keys.found
        ELSE least(
            summed.dirty_records,
            CAST(round(CAST({{ keys_kept - 1 }} AS double) / (CAST(keys.last_kept AS double) / CAST(9.223372036854775807e18 AS double))) AS bigint)
        )
    END AS dirty_keys,
    summed.dirty_bytes, summed.dirty_since,
    unix_millis(summed.dirty_since) AS dirty_since_ms,
    summed.largest_batch_bytes, summed.largest_batch_offset,
    CASE WHEN summed.counted_by_key > 0 THEN coalesce(hanging.transactions, CAST(0 AS bigint)) END AS open_transactions,
    hanging.producers AS open_producers, hanging.group_ids AS open_groups, hanging.first_offset AS open_from,
    hanging.first_at AS open_since, unix_millis(hanging.first_at) AS open_since_ms
FROM summed
LEFT JOIN keys ON keys.partition = summed.partition AND keys.copy = summed.copy
LEFT JOIN hanging ON hanging.partition = summed.partition AND hanging.copy = summed.copy
