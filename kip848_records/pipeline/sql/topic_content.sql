{# What is in each partition of each copy, by what keys name. Files and parts of dumps have counted their own; here a key
   of several is followed from one to the next, by the order of its records. `contents`: rows of partition_content. #}
WITH files AS (
    SELECT
        each.partition, each.copy, each.base_offset, each.last_offset, each.by_key.number AS number,
        each.by_key.named AS named, each.by_key.keys AS keys
    FROM (
        SELECT copied.partition, copied.copy, copied.base_offset, copied.last_offset, explode(copied.by_key) AS by_key
        FROM (
            SELECT
                log.partition, explode(log.copies) AS copy, log.by_key,
                coalesce(log.file.base_offset, log.file.first_offset) AS base_offset, log.file.last_offset AS last_offset
            FROM {log} AS log
            WHERE log.by_key IS NOT NULL AND log.partition IS NOT NULL
        ) AS copied
    ) AS each
), parts AS (
    SELECT
        files.partition, files.copy, files.base_offset, files.last_offset, files.number, files.named, files.keys,
        contents.cleaned_until IS NULL OR files.last_offset >= contents.cleaned_until AS is_dirty,
        contents.partition IS NOT NULL AS is_cleaning_shown,
        unix_millis(contents.newest_at) - unix_millis(contents.dirty_since) AS dirty_ms
    FROM files
    LEFT JOIN {contents} AS contents ON contents.partition = files.partition AND contents.copy = files.copy
), named AS (
    SELECT
        each.partition, each.copy, each.base_offset, each.last_offset, each.number, each.is_dirty, each.is_cleaning_shown, each.dirty_ms,
        each.found.place AS place, each.found.key_type AS key_type, each.found.group_id AS group_id,
        each.found.topic AS topic, each.found.records AS records, each.found.tombstones AS tombstones,
        each.found.unchanged AS unchanged, each.found.dirty_records AS dirty_records,
        each.found.dirty_unchanged AS dirty_unchanged, each.found.bytes AS bytes, each.found.oldest AS oldest,
        each.found.newest AS newest
    FROM (
        SELECT
            parts.partition, parts.copy, parts.base_offset, parts.last_offset, parts.number, parts.is_dirty,
            parts.is_cleaning_shown, parts.dirty_ms, explode(parts.named) AS found
        FROM parts
    ) AS each
), keys AS (
    SELECT
        each.partition, each.copy, named.key_type, named.group_id, named.topic, named.is_dirty,
        each.found.hash AS hash, each.found.states AS states, each.found.first_offset AS first_offset,
        each.found.last_offset AS last_offset, each.found.first_at AS first_at, each.found.first_value AS first_value,
        each.found.last_value AS last_value
    FROM (
        SELECT
            parts.partition, parts.copy, parts.base_offset, parts.last_offset, parts.number, explode(parts.keys) AS found
        FROM parts
    ) AS each
    JOIN named
        ON named.partition = each.partition AND named.copy = each.copy AND named.base_offset = each.base_offset
        AND named.last_offset = each.last_offset AND named.number = each.number AND named.place = each.found.place
), following AS (
    SELECT
        keys.*, lag(keys.last_value) OVER in_order AS value_before, lag(keys.last_offset) OVER in_order AS offset_before
    FROM keys
    WHERE keys.states > 0
    WINDOW in_order AS (
        PARTITION BY keys.partition, keys.copy, keys.key_type, keys.group_id, keys.topic, keys.hash
        ORDER BY keys.first_offset, keys.last_offset
    )
), every AS (
    SELECT
        found.partition, found.copy, found.key_type, found.group_id, found.topic, found.hash,
        sum(found.states) AS states, min(found.first_at) AS first_at, max_by(found.last_value, found.last_offset) AS last_value,
        max(found.last_offset) AS last_offset,
        sum(CASE WHEN found.is_same THEN 1 ELSE 0 END) AS unchanged,
        sum(CASE WHEN found.is_same AND found.is_dirty THEN 1 ELSE 0 END) AS dirty_unchanged,
        max(CASE WHEN found.offset_before >= found.first_offset THEN 1 ELSE 0 END) AS overlaps
    FROM (
        SELECT following.*, following.value_before = following.first_value AND following.first_value NOT IN (0, 1, 2) AS is_same
        FROM following
    ) AS found
    GROUP BY found.partition, found.copy, found.key_type, found.group_id, found.topic, found.hash
), by_key AS (
    SELECT
        every.partition, every.copy, every.key_type, every.group_id, every.topic,
        sum(CASE WHEN every.last_value <> 0 THEN 1 ELSE 0 END) AS live_keys,
        sum(CASE WHEN every.last_value = 0 THEN 1 ELSE 0 END) AS kept_tombstones,
        max(every.last_offset) AS last_offset, min(CASE WHEN every.states > 1 THEN every.first_at END) AS superseded_since,
        sum(every.unchanged) AS unchanged, sum(every.dirty_unchanged) AS dirty_unchanged, max(every.overlaps) AS overlaps
    FROM every
    GROUP BY every.partition, every.copy, every.key_type, every.group_id, every.topic
), summed AS (
    SELECT
        named.partition, named.copy, named.key_type, named.group_id, named.topic, sum(named.records) AS records,
        CASE WHEN count(named.bytes) = count(*) THEN sum(named.bytes) END AS bytes, sum(named.tombstones) AS tombstones,
        sum(named.unchanged) AS unchanged, min(named.oldest) AS oldest_at, max(named.newest) AS newest_at,
        CASE WHEN min(CASE WHEN named.is_cleaning_shown THEN 1 ELSE 0 END) = 1
            THEN sum(CASE WHEN named.is_dirty THEN named.dirty_records ELSE 0 END) END AS dirty_records,
        sum(CASE WHEN named.is_dirty THEN named.dirty_unchanged ELSE 0 END) AS dirty_unchanged,
        max(named.dirty_ms) AS dirty_ms
    FROM named
    GROUP BY named.partition, named.copy, named.key_type, named.group_id, named.topic
), counted AS (
    SELECT
        summed.*, coalesce(by_key.live_keys, 0) AS live_keys, coalesce(by_key.kept_tombstones, 0) AS kept_tombstones,
        by_key.last_offset, by_key.superseded_since, coalesce(by_key.unchanged, 0) AS more_unchanged,
        coalesce(by_key.dirty_unchanged, 0) AS more_dirty_unchanged,
        summed.key_type IN ({{ offset_commit_types | join(', ') }}) AND coalesce(by_key.overlaps, 0) = 0 AS is_compared
    FROM summed
    LEFT JOIN by_key
        ON by_key.partition = summed.partition AND by_key.copy = summed.copy
        AND by_key.key_type IS NOT DISTINCT FROM summed.key_type AND by_key.group_id IS NOT DISTINCT FROM summed.group_id
        AND by_key.topic IS NOT DISTINCT FROM summed.topic
)
SELECT
    counted.partition, counted.copy, counted.key_type, counted.group_id, counted.topic, counted.records, counted.bytes,
    counted.tombstones, CAST(counted.live_keys AS bigint) AS live_keys,
    CAST(counted.kept_tombstones AS bigint) AS kept_tombstones,
    counted.last_offset,
    CAST(counted.records - counted.live_keys - counted.kept_tombstones AS bigint) AS superseded, counted.superseded_since,
    CASE WHEN counted.is_compared THEN CAST(counted.unchanged + counted.more_unchanged AS bigint) END AS unchanged,
    counted.dirty_records,
    CASE WHEN counted.is_compared AND counted.dirty_records IS NOT NULL
        THEN CAST(counted.dirty_unchanged + counted.more_dirty_unchanged AS bigint) END AS dirty_unchanged,
    CASE WHEN counted.dirty_records IS NOT NULL THEN counted.dirty_ms END AS dirty_ms, counted.oldest_at, counted.newest_at
FROM counted
WHERE counted.key_type IS NOT NULL
