-- Each partition of each copy of segment files, with what is behind the last offset that the cleaner has been to, compared
-- with the other partitions of the copy in which it has been. The last segment is never cleaned, and the one before may wait.
-- state: not_cleaned: it has more of it than a segment or two and than what was cleaned, and it is larger and older than
-- that of the others by a multiple (times: 5): a partition with more records is cleaned more often, so its rate explains it
-- not. no_cleaning_shown: the cleaner left a trace in no partition of the copy; alone: in no other one. short: there is not
-- enough to be cleaned. cleaned: as the others. nth: the rank in the copy, by what is behind that offset.
SELECT
  parts.*,
  CASE
    WHEN parts.cleaned_parts = 0 AND parts.most_files < 3 THEN 'short'
    WHEN parts.cleaned_parts = 0 THEN 'no_cleaning_shown'
    WHEN parts.dirty_files < 3 OR parts.dirty_bytes <= parts.bytes / 2 THEN
      CASE WHEN parts.cleaned_until IS NULL THEN 'short' ELSE 'cleaned' END
    WHEN parts.others = 0 THEN 'alone'
    WHEN parts.dirty_bytes >= 5 * parts.usual_bytes AND parts.dirty_ms >= 5 * parts.usual_ms THEN 'not_cleaned'
    ELSE 'cleaned'
  END AS state
FROM (
  SELECT
    every.*, compared.others, compared.usual_bytes, compared.usual_ms,
    count(every.cleaned_until) OVER (PARTITION BY every.copy) AS cleaned_parts,
    max(every.dirty_files) OVER (PARTITION BY every.copy) AS most_files,
    row_number() OVER (
      PARTITION BY every.copy
      ORDER BY every.dirty_bytes DESC, every.partition, every.dirty_records, every.dirty_ms, every.dirty_files,
        every.dirty_keys, every.records, every.bytes, every.files, every.first_offset, every.last_offset,
        every.cleaned_until, every.oldest_at, every.newest_at, every.dirty_since, every.largest_batch_bytes,
        every.largest_batch_offset, every.open_transactions, every.open_from, every.open_since, every.open_ms,
        size(every.open_producers), array_min(every.open_producers), size(every.open_groups), array_min(every.open_groups)
    ) AS nth
  FROM partition_content AS every
  JOIN (
    SELECT
      own.partition, own.copy, count(others.partition) AS others,
      whole(percentile(others.dirty_bytes, 0.5)) AS usual_bytes,
      whole(percentile(others.dirty_ms, 0.5)) AS usual_ms
    FROM partition_content AS own
    LEFT JOIN partition_content AS others
      ON others.copy = own.copy AND others.partition <> own.partition AND others.cleaned_until IS NOT NULL
      AND others.dirty_records > 0
    GROUP BY own.partition, own.copy
  ) AS compared ON compared.partition = every.partition AND compared.copy = every.copy
) AS parts
